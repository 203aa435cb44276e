package access

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// requests are the subjects of the API of JetStream, by their templates in the server.
var requests = []string{
	server.JSApiAccountInfo, server.JSApiStreams, server.JSApiStreamList, server.JSApiLeaderStepDown,
	server.JSApiRemoveServer,
	server.JSApiStreamCreateT, server.JSApiStreamUpdateT, server.JSApiStreamInfoT, server.JSApiStreamDeleteT,
	server.JSApiStreamPurgeT,
	server.JSApiStreamSnapshotT, server.JSApiStreamRestoreT, server.JSApiMsgDeleteT, server.JSApiMsgGetT,
	server.JSApiConsumerCreateT,
	server.JSApiConsumerCreateExT, server.JSApiDurableCreateT, server.JSApiConsumersT, server.JSApiConsumerListT,
	server.JSApiConsumerInfoT,
	server.JSApiConsumerDeleteT, server.JSApiConsumerPauseT, server.JSApiRequestNextT, server.JSApiConsumerUnpinT,
	server.JSApiStreamRemovePeerT,
	server.JSApiStreamLeaderStepDownT, server.JSApiConsumerLeaderStepDownT, server.JSApiAccountPurgeT,
	server.JSApiServerStreamMoveT,
	server.JSDirectMsgGetT, server.JSDirectGetLastBySubjectT,
}

// subjects returns what exists in the account of a deployment of two shards, with the prefix holdfast, and in others
// beside it. The locks below orders are those of the user, and those below people are not.
func subjects() (all []string) {
	for _, key := range []string{"orders.1", "people.1"} {
		for _, op := range append(slices.Clone(messages.Operations), "batch", "unknown") {
			for _, at := range []string{"", "shard.0.", "shard.1."} {
				all = append(all, "holdfast."+at+string(op)+"."+key, "holdfast.tenant.ORDERS."+at+string(op)+"."+key,
					"other."+at+string(op)+"."+key)
			}
		}
		all = append(all, "holdfast.event."+key, "holdfast.node.~event."+key, "holdfast.node.~door.1f."+key,
			"holdfast.node.~door.1f.acquire."+key,
			"holdfast.shard.0.get.holdfast-doctor."+key)
	}
	for _, prefix := range []string{"holdfast.tenant.ORDERS.", "holdfast.tenant.PEOPLE."} {
		all = append(all, prefix+"info", prefix+"list", prefix+"event.orders.1", prefix+"node.~announce.n1",
			prefix+"shard.0.batch", prefix+"get.orders.1")
	}
	all = append(all, "holdfast", "holdfast.info", "holdfast.list", "holdfast.shard.0.batch", "holdfast.shard.1.batch",
		"holdfast.node.~announce.n1",
		"holdfast.node.n1", "holdfast.keep", "$KV.HOLDFAST_0.journal.1", "$KV.HOLDFAST_1.state.p",
		"$KV.HOLDFAST_2.journal.1", "$KV.OTHER.a",
		"_INBOX.user.1.2", "_INBOX.another.1.2", "_INBOX.1.2", "_R_.1.2", "_GR_.1", "payments.transfer",
		"$JS.ACK.KV_HOLDFAST_0.c.1.1.1.1.1", "$JS.FC.KV_HOLDFAST_0.c.1", "$JS.SNAPSHOT.ACK.x", "$JS.EVENT.ADVISORY.API",
		"$SYS.REQ.USER.INFO", "$SYS.REQ.SERVER.PING", "$SYS.ACCOUNT.A.CONNECT", "$SYS.REQ.ACCOUNT.A.CONNZ")
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		all = append(all, "$SRV."+verb, "$SRV."+verb+".holdfast", "$SRV."+verb+".holdfast.1", "$SRV."+verb+".other")
	}
	for _, request := range requests {
		for _, stream := range []string{"KV_HOLDFAST_0", "KV_HOLDFAST_1", "KV_HOLDFAST_2", "HOLDFAST_EVENTS", "OTHER"} {
			args := slices.Repeat([]any{stream}, strings.Count(request, "%s"))
			for i := 1; i < len(args); i++ {
				args[i] = "c"
			}
			if subject := fmt.Sprintf(request, args...); !slices.Contains(all, subject) {
				all = append(all, subject)
			}
		}
	}
	return all
}

// wildcards are subscriptions that cover what others get.
var wildcards = []string{
	">", "*.>", "holdfast.>", "holdfast.*", "holdfast.event.>", "holdfast.event.*", "holdfast.event.orders.>",
	"holdfast.node.>", "holdfast.acquire.>",
	"holdfast.shard.0.>", "_INBOX.>", "_INBOX.*.>", "_INBOX.user.>", "_INBOX.another.>", "_R_.>", "$KV.>", "$JS.>",
	"$JS.API.>", "$SRV.>", "$SRV.*",
	"$SYS.>", "other.>", "holdfast.tenant.>", "holdfast.tenant.ORDERS.>", "holdfast.tenant.*.event.>",
	"holdfast.tenant.ORDERS.event.>",
}

// allowed says by expressions on which subjects a role may publish, and to which it may subscribe. It is written down
// apart from what the command computes: a right too many is a change of this table.
var allowed = []struct {
	name               string
	args               []string
	publish, subscribe string
}{
	{
		name: "client", args: []string{"client", "orders.>", "--user", "user"},
		publish:   `holdfast\.(info|(shard\.[01]\.)?(acquire|release|extend|get)\.orders\.1)`,
		subscribe: `_INBOX\.user\.(1\.2|>)|holdfast\.event\.orders\.(1|>)`,
	},
	{
		// NATS permits a subscription to orders.> where orders.* is allowed: the command warns of it.
		name: "client of one level", args: []string{"client", "orders.*", "people.1", "--user", "user"},
		publish:   `holdfast\.(info|(shard\.[01]\.)?(acquire|release|extend|get)\.(orders|people)\.1)`,
		subscribe: `_INBOX\.user\.(1\.2|>)|holdfast\.event\.(orders\.(1|>)|people\.1)`,
	},
	{
		name:      "client of sessions and values",
		args:      []string{"client", "orders.>", "--user", "user", "--sessions", "--values"},
		publish:   `holdfast\.(info|(shard\.[01]\.)?(acquire|release|extend|get|set)\.orders\.1|(shard\.[01]\.)?(keep|end)\.(orders|people)\.1)`,
		subscribe: `_INBOX\.user\.(1\.2|>)|holdfast\.event\.orders\.(1|>)`,
	},
	{
		name:      "client of batches",
		args:      []string{"client", "orders.>", "--user", "user", "--batches", "--listing"},
		publish:   `holdfast\.(info|list|shard\.[01]\.batch|(shard\.[01]\.)?(acquire|release|extend|get)\.orders\.1)`,
		subscribe: `_INBOX\.user\.(1\.2|>)|holdfast\.event\.orders\.(1|>)`,
	},
	{
		name: "operator", args: []string{"operator", ">", "--user", "user"},
		publish:   `holdfast\.(info|list|(shard\.[01]\.)?(get|break|confirm)\.(orders|people)\.1|shard\.0\.get\.holdfast-doctor\.(orders|people)\.1)|\$SRV\.STATS\.holdfast`,
		subscribe: `_INBOX\.user\.(1\.2|>)|holdfast\.event\.(orders\.1|people\.1|>|\*|orders\.>)`,
	},
	{
		name: "operator of orders", args: []string{"operator", "orders.>", "--user", "user", "--doctor"},
		publish: `holdfast\.(info|list|(shard\.[01]\.)?(get|break|confirm)\.orders\.1|shard\.0\.get\.holdfast-doctor\.(orders|people)\.1)|` +
			`\$SRV\.STATS\.holdfast|\$SYS\.REQ\.USER\.INFO|\$JS\.API\.(INFO|STREAM\.INFO\.KV_HOLDFAST_[01])`,
		subscribe: `_INBOX\.user\.(1\.2|>)|holdfast\.event\.orders\.(1|>)`,
	},
	{
		name: "operator of all tenants", args: []string{"operator", "orders.>", "--user", "user", "--tenant", "*"},
		publish: `holdfast\.(info|list|tenant\.(ORDERS|PEOPLE)\.(info|list|(shard\.[01]\.)?(get|break|confirm)\.orders\.1))|` +
			`\$SRV\.STATS\.holdfast`,
		subscribe: `_INBOX\.user\.(1\.2|>)|holdfast\.tenant\.(ORDERS|PEOPLE)\.event\.orders\.1`,
	},
	{
		name: "operator of a tenant", args: []string{"operator", ">", "--user", "user", "--tenant", "ORDERS"},
		publish: `holdfast\.tenant\.ORDERS\.(info|list|(shard\.[01]\.)?(get|break|confirm)\.(orders|people)\.1)|` +
			`\$SRV\.STATS\.holdfast`,
		subscribe: `_INBOX\.user\.(1\.2|>)|holdfast\.tenant\.ORDERS\.event\.(orders\.1|people\.1|>)`,
	},
	{
		name: "watcher", args: []string{"watcher", "--user", "user"},
		publish:   `holdfast\.info|\$JS\.API\.STREAM\.(INFO|MSG\.GET)\.KV_HOLDFAST_[01]`,
		subscribe: `_INBOX\.user\.(1\.2|>)`,
	},
	{
		name: "watcher with consumers", args: []string{"watcher", "--user", "user", "--consumers"},
		publish: `holdfast\.info|\$JS\.API\.(STREAM\.(INFO|MSG\.GET)\.KV_HOLDFAST_[01]|` +
			`CONSUMER\.(CREATE\.KV_HOLDFAST_[01]\.c\.c|(MSG\.NEXT|DELETE)\.KV_HOLDFAST_[01]\.c))`,
		subscribe: `_INBOX\.user\.(1\.2|>)`,
	},
	{
		name: "backup", args: []string{"backup", "--user", "user"},
		publish: `\$JS\.API\.(STREAM\.(INFO|MSG\.GET)\.KV_HOLDFAST_[01]|` +
			`CONSUMER\.(CREATE\.KV_HOLDFAST_[01]\.c\.c|(MSG\.NEXT|DELETE)\.KV_HOLDFAST_[01]\.c))`,
		subscribe: `_INBOX\.user\.(1\.2|>)`,
	},
	{
		name: "agent", args: []string{"agent", "orders.>", "--user", "user"},
		publish:   `holdfast\.(info|list|(shard\.[01]\.)?confirm\.orders\.1)|\$JS\.API\.STREAM\.(INFO|MSG\.GET)\.KV_HOLDFAST_[01]`,
		subscribe: `_INBOX\.user\.(1\.2|>)`,
	},
	{
		name: "metrics", args: []string{"metrics", "--user", "user"},
		publish:   `holdfast\.info|\$SRV\.(PING|INFO|STATS)\.holdfast(\.1)?`,
		subscribe: `_INBOX\.user\.(1\.2|>)`,
	},
	{
		name: "node", args: []string{"node", "--user", "user"},
		publish: `holdfast\..*|_INBOX\..*|_R_\.1\.2|\$KV\.HOLDFAST_[01]\..*|\$SRV\.STATS\.holdfast|\$JS\.API\.(INFO|STREAM\.NAMES|` +
			`STREAM\.(CREATE|UPDATE|INFO|PURGE|MSG\.GET|LEADER\.STEPDOWN)\.KV_HOLDFAST_[01]|STREAM\.(CREATE|UPDATE|INFO|MSG\.GET)\.HOLDFAST_EVENTS|` +
			`CONSUMER\.(CREATE\.KV_HOLDFAST_[01]\.c\.c|(MSG\.NEXT|DELETE)\.KV_HOLDFAST_[01]\.c))`,
		subscribe: `holdfast\..*|_INBOX\..*|\$SRV\.(\*|>|(PING|INFO|STATS)(\.holdfast(\.1)?)?)`,
	},
}

// NATS permits each role the subjects of the table and refuses it every other one that exists.
func TestRightsAreTheTable(t *testing.T) {
	t.Parallel()
	for _, role := range allowed {
		t.Run(role.name, func(t *testing.T) {
			t.Parallel()
			conf := printed(t, append(role.args, "--shards", "2")...)
			s := stand.StartNATS(t, embedded.Config{ConfigFile: stand.NATSConfig(t, conf)})
			u := &user{TB: t, refusals: make(chan string, 4096)}
			u.nc = s.Connect(t, nats.UserInfo("user", password), nats.ErrorHandler(u.refused))
			u.want("Publish to", role.publish, subjects(),
				func(subject string) error { return u.nc.Publish(subject, nil) })
			u.want("Subscription to", role.subscribe, append(subjects(), wildcards...), func(subject string) error {
				_, err := u.nc.SubscribeSync(subject)
				return err
			})
		})
	}
}

// user is a connection that notes what it is refused.
type user struct {
	testing.TB
	nc       *nats.Conn
	refusals chan string
}

func (u *user) refused(_ *nats.Conn, _ *nats.Subscription, err error) { u.refusals <- err.Error() }

// want tries all subjects, and fails the test unless NATS refuses those that do not match the expression.
func (u *user) want(what, expression string, subjects []string, try func(string) error) {
	u.Helper()
	const last = "$SYS.last.of.all"
	rule := regexp.MustCompile(`^(` + expression + `)$`)
	for _, subject := range append(subjects, last) {
		if err := try(subject); err != nil {
			u.Fatal(err)
		}
	}
	if err := u.nc.Flush(); err != nil {
		u.Fatal(err)
	}
	refused := make(map[string]bool)
	report := regexp.MustCompile(`(?i)` + what + ` "([^"]+)"`)
	for !refused[last] {
		text := <-u.refusals
		if found := report.FindStringSubmatch(text); found != nil {
			refused[found[1]] = true
		}
	}
	count := 0
	for _, subject := range subjects {
		if rule.MatchString(subject) != !refused[subject] {
			u.Errorf("%s %s: refused: %v, want the opposite", what, subject, refused[subject])
		}
		if !refused[subject] {
			count++
		}
	}
	if count == 0 {
		u.Errorf("%s: everything was refused", what)
	}
}
