package access

import "github.com/spf13/pflag"

// roles has the command of each role.
var roles = []struct {
	use, short, long, example string
	// flags adds the flags of the role; nil: it has none of its own.
	flags func(*Terms, *pflag.FlagSet)
	user  func(Deployment, Terms) User
}{
	{
		use: "node", short: "Print the user of the nodes",
		long: `Prints the user with which nodes log in to NATS. It may do everything below the
prefix, answer to inboxes, read and write the journals, and ask for what the page shows.
Other subjects and streams of the account are closed to it, so that no client can let
a node publish there.`,
		user: Deployment.Node,
	},
	{
		use: "client PATTERN...", short: "Print a user that takes locks",
		long: `Prints a user that takes the locks that match the patterns, and no others.

In a pattern, * matches one whole level between dots, and > at the end matches one or
more levels; quote it for the shell. 'orders.>' does not match orders itself.`,
		example: `  holdfast access client 'orders.>' --user orders
  holdfast access client 'orders.*' invoices --user billing --sessions --values`,
		flags: func(t *Terms, f *pflag.FlagSet) {
			f.BoolVar(&t.Values, "values", false, "may change the metadata of its leases, as elections do")
			f.BoolVar(&t.Sessions, "sessions", false, "may keep many leases with one request")
			f.BoolVar(&t.Listing, "listing", false, "may list all locks")
			f.BoolVar(&t.Batches, "batches", false,
				"may send many requests in one message: to all resources, with breaks")
		},
		user: Deployment.Client,
	},
	{
		use: "operator PATTERN...", short: "Print a user that lists and breaks locks",
		long: `Prints a user that lists all locks, looks at those that match the patterns, breaks them
and confirms their losses. It acquires none.`,
		flags: func(t *Terms, f *pflag.FlagSet) {
			f.BoolVar(&t.Doctor, "doctor", false, "holdfast doctor may make all its checks")
			f.StringVar(&t.Tenant, "tenant", "",
				"`ACCOUNT` whose locks they are, '*' for all tenants (default: locks of no tenant)")
		},
		user: Deployment.Operator,
	},
	{
		use: "watcher", short: "Print a user that watches all locks",
		long: `Prints a user that reads the journals: for holdfast watch, history and leader, and for
Watch of the Go client. It sees all locks, whatever the pattern that it watches.`,
		flags: readerFlags,
		user:  Deployment.Watcher,
	},
	{
		use: "agent PATTERN...", short: "Print a user that confirms losses",
		long: `Prints a user for holdfast fence-agent: it sees all locks, and confirms the losses of
those that match the patterns.`,
		flags: readerFlags,
		user:  Deployment.Agent,
	},
	{
		use: "metrics", short: "Print a user that reads statistics",
		long: `Prints a user for nats micro ping, info and stats of holdfast, and for holdfast.info.
It sees counters and nodes, and no names of locks.`,
		user: Deployment.Metrics,
	},
	{
		use: "backup", short: "Print a user that makes backups",
		long: `Prints a user for holdfast backup, which reads the journals through consumers.`,
		user: Deployment.Backup,
	},
}

func readerFlags(t *Terms, f *pflag.FlagSet) {
	f.BoolVar(&t.Consumers, "consumers", false, "may create consumers of the journals, which read faster")
	f.BoolVar(&t.Imported, "imported", false, "is in an account without JetStream that imports from that of the nodes")
}
