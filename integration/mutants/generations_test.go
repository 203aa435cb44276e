package mutants_test

func init() { mutants = append(mutants, generations...) }

var (
	// newShards are those of a deployment that a Go client follows, with a service in virtual time.
	newShards = suite{module: "clients", folder: "holdfast", run: "^Test(SessionsOfOtherShards|ForgedGeneration)$"}
	// newJournals are those that a watch reads behind others.
	newJournals = suite{module: "clients", folder: "holdfast/internal/watch", run: "^TestGenerations$"}
	// newShardsInTypeScript and newShardsInPython are those that the other clients follow.
	newShardsInTypeScript = suite{client: "typescript", folder: "test/unit/generation.test.ts", run: "header|other shards"}
	newShardsInPython     = pythonTests("test_generations.py", "one_question")
)

// generations are mutants of what clients do when the deployment has another number of shards.
var generations = []mutant{
	{
		name:  "DoubtWithoutAPause",
		harm:  "who forges a header has each Go client ask the service about itself again and again",
		edits: []edit{{"clients/holdfast/deployment.go", "pause = minDoubt"}},
		found: newShards,
		says:  `for ten minutes: asked \d+ times for the shards`,
	},
	{
		name:  "SessionsOfFormerShards",
		harm:  "each keep of a Go client asks all shards for as long as the client lives",
		edits: []edit{{"clients/holdfast/sessions.go", "if false {"}},
		found: newShards,
		says:  `the session of \S+ is kept at`,
	},
	{
		name:  "VoidedCloseIsFinal",
		harm:  "a watch misses what happened between a change of the number of shards that was undone and a later one",
		edits: []edit{{"clients/holdfast/internal/watch/generation.go", "case present.Generation >= c.GetGeneration():"}},
		found: newJournals,
		says:  `got .*, want`,
	},
	{
		name:  "PendingCloseIsFinal",
		harm:  "a watch misses all that happens behind a change of the number of shards that is undone",
		edits: []edit{{"clients/holdfast/internal/watch/generation.go", "return true, nil"}},
		found: newJournals,
		says:  `got .*, want|though generation 2 is not used yet`,
	},
	{
		name: "WatchRepeatsTheCopy",
		harm: "a watch yields leases as acquired anew when the deployment gets another number of shards",
		edits: []edit{{"clients/holdfast/internal/watch/lookup.go",
			"return Cursor{shard: r.shard.Number, number: first.GetNumber() - 1}, nil"}},
		found: newJournals,
		says:  `got .*"copied1"`,
	},
	{
		name:  "WatchLeavesAJournalEarly",
		harm:  "a watch misses the last changes of a shard that is closed later than the others",
		edits: []edit{{"clients/holdfast/internal/watch/generation.go", "if c.GetGeneration() != first.GetGeneration() && first == nil {"}},
		found: newJournals,
		says:  `got .*, want`,
	},
	{
		name:  "WatchSinceForgetsFormerShards",
		harm:  "a watch says that changes were compacted that former journals have",
		edits: []edit{{"clients/holdfast/internal/watch/lookup.go", "gone.begins = false"}},
		found: newJournals,
		says:  `got .* and .*journal compacted.*, want`,
	},
	{
		name:  "TypeScriptSessionsOfFormerShards",
		harm:  "each keep of a client asks all shards for as long as the client lives",
		edits: []edit{{"clients/typescript/src/client.ts", "this.#core.deployment.divided = () => {};"}},
		found: newShardsInTypeScript,
		says:  `not ok .* when there are other shards`,
	},
	{
		name:  "TypeScriptGenerationIsIgnored",
		harm:  "each request of a client takes a way through another node for as long as the client lives",
		edits: []edit{{"clients/typescript/src/sender.ts", "if (noResponders) this.client.outdated();"}},
		found: newShardsInTypeScript,
		says:  `not ok .* a header has the service asked`,
	},
	{
		name:  "TypeScriptDoubtWithoutAPause",
		harm:  "who forges a header has each client ask the service about itself again and again",
		edits: []edit{{"clients/typescript/src/deployment.ts", "if (now < this.#asked) return;"}},
		found: newShardsInTypeScript,
		says:  `not ok .* a header has the service asked`,
	},
	{
		name:  "PythonSessionsOfFormerShards",
		harm:  "each keep of a client asks all shards for as long as the client lives",
		edits: []edit{{"clients/python/src/holdfast_client/_deployment.py", "if False:"}},
		found: newShardsInPython,
		says:  `assert \(1, 0, \[\(2, 0\)\]\)`,
	},
	{
		name:  "PythonDoubtWithoutAPause",
		harm:  "who forges a header has each client ask the service about itself again and again",
		edits: []edit{{"clients/python/src/holdfast_client/_deployment.py", "if _clock.now() >= self._queried:"}},
		found: newShardsInPython,
		says:  `assert \d+ <= 130`,
	},
}
