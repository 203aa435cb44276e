package mutants_test

func init() { mutants = append(mutants, handOvers...) }

var (
	// rests are what is left of leases at a planned change of owner, inherits who goes on with that.
	rests    = suite{folder: "actors", run: "^TestRestOf"}
	inherits = suite{folder: "actors", run: "^TestOnlyTheNextOwnerInherits$"}
	known    = suite{folder: "actors", run: "^TestEndedRequestsAreHandedOver$"}
	starts   = suite{folder: "actors/node/assignment", run: "^TestStartSettlesAtOnce$"}
)

// handOvers are mutants of planned changes of owner, and of the start of a deployment.
var handOvers = []mutant{
	{
		name:  "RestIsRoundedDown",
		harm:  "a lease that moves ends up to a millisecond before its holder expects",
		edits: []edit{{"actors/lease/left.go", "l[key] = max(l[key], millis(deadline.Sub(now)-time.Millisecond))"}},
		found: rests,
		says:  `3999 ms are left, want 4s`,
	},
	{
		name: "RestOfASessionIsThatOfItsGrant",
		harm: "the leases of a session that was kept end early when their shard moves",
		edits: []edit{{
			"actors/lease/handover.go",
			"l.put(journal.SessionKey(key), min(x.deadline, now.Add(ttl(1))), now)",
		}},
		found: rests,
		says:  `1 ms are left, want`,
	},
	{
		name: "RestIsInheritedTwice",
		harm: "an owner that died extended leases, and the one after it ends them by what was left before",
		edits: []edit{{"actors/ledger/stage.go",
			`if h := c.GetHandOver(); h != nil {
		l.handOver = h
	}`}},
		found: inherits,
		says:  `ms are left, want|got RELEASED`,
	},
	{
		name:  "EndedRequestsStay",
		harm:  "a late copy takes a lock anew after a rolling restart",
		edits: []edit{{"actors/handover.go", ""}},
		found: known,
		says:  `want RELEASED`,
	},
	{
		name:  "ListenersDoNotCount",
		harm:  "the first node of a start opens all shards, and hands most of them over a moment later",
		edits: []edit{{"actors/node/assignment/members.go", "case x.GetLeaving(), x.GetJoining():"}},
		found: starts,
		says:  `openings of 8 shards`,
	},
	{
		name:  "ShardsFollowAtOnce",
		harm:  "shards move to the leaders that a first election has drawn",
		edits: []edit{{"actors/node/assignment/controller.go", "leadAfter = 5 * time.Second"}},
		found: starts,
		says:  `openings of 8 shards|shards move in peace`,
	},
}
