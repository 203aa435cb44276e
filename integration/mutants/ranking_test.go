package mutants_test

func init() { mutants = append(mutants, rankings...) }

var (
	// tops are rankings by the wire, longest those of the leases of one shard.
	tops    = suite{folder: "integration/contract", run: "^TestRankingOfQueues$"}
	longest = suite{folder: "actors/ledger", run: "^TestLongest$"}
)

// rankings are mutants of listings by what waits and what is held longest.
var rankings = []mutant{
	{
		name:  "ShortestQueueFirst",
		harm:  "an operator who looks for what is contended sees what is not",
		edits: []edit{{"actors/ranking/place.go", "return Place{First: int64(waiting), Second: -int64(oldestMs)}"}},
		found: tops,
		says:  `by QUEUE the first`,
	},
	{
		name:  "PartOfARankingLeftOut",
		harm:  "the longest queues of all shards but one are missing",
		edits: []edit{{"actors/node/ranking.go", "reply = merged(ask, &messages.ListReply{}, part)"}},
		found: tops,
		says:  `by (QUEUE|WAIT) the first`,
	},
	{
		name:  "PageOfARankingLeftOut",
		harm:  "leases that were held for days are missing, since their page counts as one of younger leases",
		edits: []edit{{"actors/ledger/page.go", "if n > 0 && c.Held > 0 && p.granted == math.MaxInt64 {"}},
		found: longest,
		says:  `the first`,
	},
}
