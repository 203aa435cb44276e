package access

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// share is what an account uses of the account of the nodes.
type share struct {
	// exported and remote are its subjects in the account of the nodes, for all other accounts and for this one. local is the
	// subject in the importing account.
	exported, remote, local string
	// events: it is a stream of messages and no service.
	events bool
	// only is the account that may import it; empty: each.
	only string
	// position is the level of the subject that has the name of the importing account; 0: none.
	position int
	// several nodes or servers answer.
	several bool
	// of is the account that exports it; empty: that of the nodes.
	of string
}

// newShare returns a share that has the same subject everywhere.
func newShare(subject string) share { return share{exported: subject, remote: subject, local: subject} }

// clientUses are those of an application that shares the locks with others.
var clientUses = []use{useLocks, useLooks, useValues, useSessions}

// syncsShare returns the question how NATS stores, for these accounts.
func syncsShare(only string) share {
	s := newShare(syncs)
	s.several, s.of, s.only = true, strconv.Quote(systemAccount), only // NATS takes $SYS without quotes for a variable
	return s
}

// shares returns discovery, operations on the keys, each by itself, and events. An export of everything below the prefix would
// include the subjects between nodes, and let each account publish events.
func (d Deployment) shares(keys []string, of ...use) []share {
	all := []share{newShare(d.Prefix.Info())}
	for _, subject := range d.on(keys, operations(of...)...) {
		all = append(all, newShare(subject))
	}
	events := newShare(d.Prefix.Event(">"))
	events.events = true
	return append(all, events)
}

// operatorShares returns what the account of operators uses.
func (d Deployment) operatorShares() []share {
	all := append(d.shares(everything, useLooks, useBreaks, useConfirmations), newShare(d.Prefix.List()))
	for _, subject := range d.journals(streamInfo, messageGet) {
		s := newShare(subject)
		s.local = d.importedJournal(subject) // below $JS.API every account reaches its own JetStream
		all = append(all, s)
	}
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		s := newShare("$SRV." + verb + ".holdfast")
		s.several = true
		all = append(all, s)
	}
	for i := range all {
		all[i].only = operatorsAccount
	}
	return all
}

// tenantShares returns what an account uses that has resources of its own.
func (d Deployment) tenantShares(account string) []share {
	local := append(d.shares(everything, append(clientUses, useBreaks, useConfirmations)...), newShare(d.Prefix.List()))
	all := string(d.Prefix.Tenant(messages.AllTenants))
	for i, s := range local {
		below := strings.TrimPrefix(s.local, string(d.Prefix))
		local[i].exported, local[i].remote = all+below, string(d.Prefix.Tenant(account))+below
		local[i].position = strings.Count(all, ".") + 1 // of events, too: no account can import those of another
	}
	return local
}

func (t *text) exports(shares []share) {
	t.block("exports: [", "]", func() {
		for _, s := range shares {
			t.line("%s", s.export())
		}
	})
}

func (s share) export() string {
	terms := []string{fmt.Sprintf("service: %q", s.exported), fmt.Sprintf("response_threshold: %q", responseThreshold)}
	if s.events {
		terms = []string{fmt.Sprintf("stream: %q", s.exported)}
	}
	if s.several {
		terms = append(terms, "response_type: stream")
	}
	if s.position > 0 {
		terms = append(terms, fmt.Sprintf("account_token_position: %d", s.position))
	}
	if s.only != "" {
		terms = append(terms, fmt.Sprintf("accounts: [%s]", s.only))
	}
	return "{ " + strings.Join(terms, ", ") + " }"
}

// imports writes what an account imports. With verified, nodes are told which user has sent a request.
func (t *text) imports(shares []share, verified bool) {
	t.block("imports: [", "]", func() {
		for _, s := range shares {
			t.line("%s", s.imported(verified))
		}
	})
}

func (s share) imported(verified bool) string {
	kind, terms := "service", ""
	if s.events {
		kind = "stream"
	}
	if s.local != s.remote {
		terms = fmt.Sprintf(", to: %q", s.local)
	}
	if verified && !s.events {
		terms += ", share: true"
	}
	return fmt.Sprintf("{ %s: { account: %s, subject: %q }%s }", kind, cmp.Or(s.of, nodesAccount), s.remote, terms)
}
