package access

import (
	"strconv"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// The kinds of shares: answers to requests, and messages.
const (
	service = "service"
	stream  = "stream"
)

// share is what an account uses of the account of the nodes.
type share struct {
	Kind string
	// Exported and Remote are its subjects in the account of the nodes, for all other accounts and for this one. Local
	// is the subject in the importing account.
	Exported, Remote, Local string
	// Only is the account that may import it; empty: each.
	Only string
	// Position is the level of the subject that has the name of the importing account; 0: none.
	Position int
	// Several nodes or servers answer.
	Several bool
	// Of is the account that exports it.
	Of string
}

// newShare returns a share that has the same subject everywhere.
func newShare(kind, subject string) share {
	return share{Kind: kind, Exported: subject, Remote: subject, Local: subject, Of: nodesAccount}
}

// clientUses are those of an application that shares the locks with others.
var clientUses = []use{useLocks, useLooks, useValues, useSessions}

// syncsShare returns the question how NATS stores, for these accounts.
func syncsShare(only string) share {
	s := newShare(service, syncs)
	s.Several, s.Of, s.Only = true, strconv.Quote(systemAccount), only // NATS takes $SYS without quotes for a variable
	return s
}

// shares returns discovery, operations on the keys, each by itself, and events. An export of everything below the
// prefix would include the subjects between nodes, and let each account publish events.
func (d Deployment) shares(keys []string, of ...use) []share {
	all := []share{newShare(service, d.Prefix.Info())} // mutant: EverythingExported
	for _, subject := range d.on(keys, operations(of...)...) {
		all = append(all, newShare(service, subject))
	}
	return append(all, newShare(stream, d.Prefix.Event(">")))
}

// operatorShares returns what the account of operators uses.
func (d Deployment) operatorShares() []share {
	all := append(d.shares(everything, useLooks, useBreaks, useConfirmations), newShare(service, d.Prefix.List()))
	for _, subject := range d.journals(streamInfo, messageGet) {
		s := newShare(service, subject)
		s.Local = d.importedJournal(subject) // below $JS.API every account reaches its own JetStream
		all = append(all, s)
	}
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		s := newShare(service, "$SRV."+verb+".holdfast")
		s.Several = true
		all = append(all, s)
	}
	for i := range all {
		all[i].Only = operatorsAccount
	}
	return all
}

// tenantShares returns what an account uses that has resources of its own.
func (d Deployment) tenantShares(account string) []share {
	local := append(d.shares(everything, append(clientUses, useBreaks, useConfirmations)...),
		newShare(service, d.Prefix.List()))
	all := string(d.Prefix.Tenant(messages.AllTenants))
	for i, s := range local {
		below := strings.TrimPrefix(s.Local, string(d.Prefix))
		local[i].Exported, local[i].Remote = all+below, string(d.Prefix.Tenant(account))+below
		local[i].Position = strings.Count(all, ".") + 1 // of events, too: no account can import those of another
	}
	return local
}
