package access

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

func newNode() *cobra.Command {
	r := &role{}
	return r.command("node", "Print the user of the nodes", `Prints the user with which nodes log in to NATS. It may do everything below the
prefix, answer to inboxes, and read and write the journals. Other subjects and streams
of the account are closed to it, so that no client can let a node publish there.`, nil,
		func(d Deployment) User { return d.Node(r.user, r.inbox) })
}

func newClient() *cobra.Command {
	r, t := &role{}, &ClientTerms{}
	cmd := r.command("client PATTERN...", "Print a user that takes locks", `Prints a user that takes the locks that match the patterns, and no others.

In a pattern, * matches one whole level between dots, and > at the end matches one or
more levels; quote it for the shell. 'orders.>' does not match orders itself.`, func(f *pflag.FlagSet) {
		f.BoolVar(&t.Values, "values", false, "may change the metadata of its leases, as elections do")
		f.BoolVar(&t.Sessions, "sessions", false, "may keep many leases with one request")
		f.BoolVar(&t.Listing, "listing", false, "may list all locks")
		f.BoolVar(&t.Batches, "batches", false, "may send many requests in one message: to all resources, with breaks")
	}, func(d Deployment) User {
		t.User, t.Inbox, t.Keys = r.user, r.inbox, r.keys
		return d.Client(*t)
	})
	cmd.Example = `  holdfast access client 'orders.>' --user orders
  holdfast access client 'orders.*' invoices --user billing --sessions --values`
	return cmd
}

func newOperator() *cobra.Command {
	t := &OperatorTerms{}
	r := &role{conflict: func() error { return cli.CheckTenant(t.Tenant, true) }}
	return r.command("operator PATTERN...", "Print a user that lists and breaks locks", `Prints a user that lists all locks, looks at those that match the patterns, breaks them
and confirms their losses. It acquires none.`, func(f *pflag.FlagSet) {
		f.BoolVar(&t.Doctor, "doctor", false, "holdfast doctor may make all its checks")
		f.StringVar(&t.Tenant, "tenant", "", "`ACCOUNT` whose locks they are, '*' for all tenants (default: locks of no tenant)")
	}, func(d Deployment) User {
		t.User, t.Inbox, t.Keys = r.user, r.inbox, r.keys
		return d.Operator(*t)
	})
}

func newWatcher() *cobra.Command {
	t := &ReaderTerms{}
	r := &role{conflict: t.conflict}
	return r.command("watcher", "Print a user that watches all locks", `Prints a user that reads the journals: for holdfast watch, history and leader, and for
Watch of the Go client. It sees all locks, whatever the pattern that it watches.`, t.flags,
		func(d Deployment) User {
			t.User, t.Inbox = r.user, r.inbox
			return d.Watcher(*t)
		})
}

func newAgent() *cobra.Command {
	t := &ReaderTerms{}
	r := &role{conflict: t.conflict}
	return r.command("agent PATTERN...", "Print a user that confirms losses", `Prints a user for holdfast fence-agent: it sees all locks, and confirms the losses of
those that match the patterns.`, t.flags,
		func(d Deployment) User {
			t.User, t.Inbox = r.user, r.inbox
			return d.Agent(*t, r.keys)
		})
}

func (t *ReaderTerms) flags(f *pflag.FlagSet) {
	f.BoolVar(&t.Consumers, "consumers", false, "may create consumers of the journals, which read faster")
	f.BoolVar(&t.Imported, "imported", false, "is in an account without JetStream that imports from that of the nodes")
}

func (t *ReaderTerms) conflict() error {
	if t.Consumers && t.Imported {
		return exit.Usagef("--consumers or --imported: there are no consumers through an import")
	}
	return nil
}

func newMetrics() *cobra.Command {
	r := &role{}
	return r.command("metrics", "Print a user that reads statistics", `Prints a user for nats micro ping, info and stats of holdfast, and for holdfast.info.
It sees counters and nodes, and no names of locks.`, nil,
		func(d Deployment) User { return d.Metrics(r.user, r.inbox) })
}

func newBackup() *cobra.Command {
	r := &role{}
	return r.command("backup", "Print a user that makes backups", `Prints a user for holdfast backup, which reads the journals through consumers.`, nil,
		func(d Deployment) User { return d.Backup(r.user, r.inbox) })
}
