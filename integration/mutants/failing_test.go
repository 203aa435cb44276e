package mutants_test

func init() { mutants = append(mutants, failing...) }

// failing are mutants of owners of shards that fail in part, and of what says so.
var failing = []mutant{
	{
		name:  "PanicLeavesATerm",
		harm:  "a node whose shard has panicked while its term began does not stop any more",
		edits: []edit{{"actors/term.go", ""}},
		found: trials,
		says:  `node \d+ does not end`,
	},
	{
		name:  "PanicOfAReplayEndsTheNode",
		harm:  "a bug in the replay of one shard ends the process, and with it all other shards, on each node that takes over",
		edits: []edit{{"actors/opening.go", "err = func(f func() error) error { return f() }(func() (err error) {"}},
		found: trials,
		says:  `panic: a bug of replay`,
	},
	{
		name: "StalledOwnerStays",
		harm: "an owner to which JetStream confirms nothing keeps its shard for as long as other nodes hear it",
		edits: []edit{{
			"actors/node/assignment/reconcile.go",
			"case hasLasted(c.outdone, 1000*outdoneLimit, r.now) && r.assigned.hasAlternative(c.number, r.self()):",
		}},
		found: trials,
		says:  `is not served while a node cannot store`,
	},
	{
		name: "CommitIsNotChecked",
		harm: "a commit that no owner can read is stored, and the shard is closed for good",
		edits: []edit{
			{"actors/lease/grant.go", "Token:        max(1, uint64(t.image.Token()+1)-uint64(max(0, 1-t.now.UnixMillis%97))),"},
			{"actors/term.go", "if err != nil && t.changes < 0 {"},
		},
		found: trials,
		says:  `is not served`,
	},
	{
		name:  "ClockOfTheLastDelay",
		harm:  "one slow message looks like clocks that are apart, and hides clocks that are",
		edits: []edit{{"actors/node/clocks.go", "o.present = difference"}},
		found: suite{folder: "actors/node", run: "^TestClockOffsetWithinTheShortestDelay$"},
		says:  `for an offset of`,
	},
}
