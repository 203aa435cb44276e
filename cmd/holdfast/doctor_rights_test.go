package main_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/cmd/holdfast/doctor"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// doctorRights returns the permissions of an operator without those to break and to confirm.
func doctorRights(t *testing.T) string {
	t.Helper()
	return regexp.MustCompile(`\n.*\.(break|confirm)\..*`).
		ReplaceAllString(rightsOf(t, "operator", ">", "--doctor"), "")
}

// What a user may is compared with what a client needs. What it may not see is no finding.
func TestDoctorOfUsers(t *testing.T) {
	t.Parallel()
	const client = `"holdfast.info", "holdfast.acquire.orders.>", "holdfast.release.orders.>", "holdfast.extend.orders.>", "holdfast.get.orders.>",
		"holdfast.shard.*.acquire.orders.>", "holdfast.shard.*.release.orders.>", "holdfast.shard.*.extend.orders.>", "holdfast.shard.*.get.orders.>"`
	file := stand.NATSConfig(t, `authorization { users: [
		{ user: node, password: secret }
		{ user: operator, password: x, permissions: { `+doctorRights(t)+` } }
		{ user: client, password: x, permissions: { publish: [`+client+`], subscribe: ["_INBOX.>"] } }
		{ user: dumb, password: x, permissions: { publish: ["$SYS.REQ.USER.INFO"], subscribe: ["_INBOX.>"] } }
		{ user: deaf, password: x, permissions: { publish: ">", subscribe: ["nothing"] } }
	] }`)
	p := serveWith(t, []string{"HOLDFAST_PASSWORD=secret"}, "--nats-config", file, "--user", "node", "--shards", "1")
	as := func(user string, args ...string) *diagnosis {
		t.Helper()
		return examine(t, strings.Replace(p.url, "//", "//"+user+":x@", 1), args...)
	}
	as("operator").wantHealthy(t)
	hidden := as("client")
	if hidden.result.code != 0 || hidden.Problems+hidden.Warnings != 0 {
		t.Errorf("exit code %d: %s", hidden.result.code, hidden.result.stdout)
	}
	for check, needs := range map[string]string{
		"permissions": "permission to publish on $SYS.REQ.USER.INFO",
		"nodes":       "permission to publish on $SRV.STATS.holdfast",
		"commits":     "permission to publish on holdfast.shard.*.get.holdfast-doctor.>",
		"storage":     "permission to publish on $SRV.STATS.holdfast",
		"replicas":    "permission to publish on $JS.API.STREAM.INFO.KV_HOLDFAST_0, and the same for the other shards",
		"load":        "permission to publish on $SRV.STATS.holdfast",
		"queues":      "permission to publish on holdfast.list",
		"deadlocks":   "permission to publish on holdfast.list",
		"tokens":      "permission to publish on holdfast.list",
	} {
		if r := hidden.check(t, check); r.State != doctor.NotVisible || r.Needs != needs {
			t.Errorf("%s: %+v", check, r)
		}
	}
	examine(t, strings.Replace(p.url, "//", "//node:secret@", 1)).want(t, "permissions", doctor.Warning,
		`^user node .*\$JS\.API\.STREAM\.DELETE\.KV_HOLDFAST_0, .*\$KV\.HOLDFAST_0\.>, holdfast\.event\.>, holdfast\.node\.>$`)
	as("dumb").wantOnly(t, "shards", doctor.Problem, `^this user lacks the permission to publish on holdfast\.info$`)
	as("deaf").want(t, "shards", doctor.Problem, `^this user lacks the permission to subscribe to _INBOX\.`)
}

// Of each user all is found that is wrong with its permissions, and nothing else.
func TestDoctorComparesPermissions(t *testing.T) {
	t.Parallel()
	const (
		events = `subscribe: ["_INBOX.>", "holdfast.event.>"]`
		orders = `"holdfast.acquire.orders.>", "holdfast.release.orders.>", "holdfast.extend.orders.>", "holdfast.get.orders.>",
			"holdfast.shard.*.acquire.orders.>", "holdfast.shard.*.release.orders.>", "holdfast.shard.*.extend.orders.>", "holdfast.shard.*.get.orders.>"`
	)
	grants := map[string]struct {
		permissions string
		want        []string
	}{
		"client": {`publish: [` + orders + `], ` + events, nil},
		"levels": {`publish: ["holdfast.*.orders.>", "holdfast.shard.*.*.orders.>"], ` + events, []string{
			`may publish on holdfast.event.orders.>, holdfast.node.orders.>`,
			`may publish on holdfast.break.orders.>, holdfast.confirm.orders.>, holdfast.shard.*.break.orders.>, holdfast.shard.*.confirm.orders.>`,
		}},
		"denied": {`publish: { allow: ["holdfast.*.orders.>", "holdfast.shard.*.*.orders.>"],
			deny: ["holdfast.event.>", "holdfast.node.>", "holdfast.break.>", "holdfast.confirm.>", "holdfast.shard.*.break.>", "holdfast.shard.*.confirm.>"] }, ` + events, nil},
		"operator": {`publish: ["holdfast.event.orders.>", "holdfast.break.>", "holdfast.confirm.>"]`, []string{
			`may publish on holdfast.event.orders.>`, `may publish on holdfast.break.>, holdfast.confirm.>`,
		}},
		"buckets": {
			`publish: ["$KV.HOLDFAST_1.>", "$KV.OTHER.>", "$JS.API.STREAM.MSG.DELETE.>", "$JS.API.STREAM.RESTORE.KV_HOLDFAST_2"]`, []string{
				`may publish on $JS.API.STREAM.MSG.DELETE.KV_HOLDFAST_0, $JS.API.STREAM.RESTORE.KV_HOLDFAST_2, $KV.HOLDFAST_1.>`,
			}},
		"node": {`publish: ["holdfast.node.n7.>"]`, []string{`may publish on holdfast.node.n7.>`}},
		"release": {`publish: { allow: [` + orders + `], deny: "holdfast.release.>" }, ` + events, []string{
			`may acquire orders.>, but not publish on holdfast.release.orders.>`,
		}},
		"secret": {`publish: { allow: [` + orders +
			`], deny: ["holdfast.*.orders.secret.>", "holdfast.shard.*.*.orders.secret.>"] }, ` + events, nil},
		"narrow": {`publish: ["holdfast.acquire.a.>"], ` + events, []string{
			`may acquire a.>, but not publish on holdfast.extend.a.>, holdfast.get.a.>, holdfast.release.a.>, ` +
				`holdfast.shard.*.acquire.a.>, holdfast.shard.*.extend.a.>, holdfast.shard.*.get.a.>, holdfast.shard.*.release.a.>`,
		}},
		"deaf": {`publish: [` + orders + `], subscribe: ["_INBOX.>", "holdfast.event.> queue"]`, []string{
			`may acquire orders.>, but not subscribe to holdfast.event.orders.>`,
		}},
		"wide": {`publish: { allow: ["holdfast.>"], deny: ["holdfast.release.a"] }, ` + events, []string{
			`may acquire >, but not publish on holdfast.release.a`,
			`may publish on holdfast.event.>, holdfast.node.>`,
			`may publish on holdfast.break.>, holdfast.confirm.>, holdfast.shard.*.break.>, holdfast.shard.*.confirm.>`,
		}},
	}
	var users strings.Builder
	for user, grant := range grants {
		permissions := regexp.MustCompile(`publish: \[|allow: \[`).ReplaceAllString(grant.permissions,
			`$0"$$SYS.REQ.USER.INFO", `)
		fmt.Fprintf(&users, "{ user: %s, password: x, permissions: { %s } }\n", user, permissions)
	}
	server := stand.StartNATS(t, embedded.Config{ConfigFile: stand.NATSConfig(t,
		"authorization { users: [\n"+users.String()+"] }")})
	for user, grant := range grants {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range examine(t, strings.Replace(server.ClientURL(), "//", "//"+user+":x@", 1)).check(t,
				"permissions").Findings {
				got = append(got, strings.TrimPrefix(f.What, "user "+user+" of account $G "))
			}
			if !slices.Equal(got, grant.want) {
				t.Errorf("got  %q\nwant %q", got, grant.want)
			}
		})
	}
}
