package mutants_test

func init() { mutants = append(mutants, tokens...) }

// lossOfABlock is of what the command of a fencing agent receives.
var lossOfABlock = suite{folder: "cmd/holdfast", run: "^TestFenceAgentTellsTheCommandWhatWasLost$"}

// tokens are mutants of what deals with the blocks of other clients.
var tokens = []mutant{
	{
		name:  "MarkBelowTheBlock",
		harm:  "who raises a mark because a lease was lost lets its later tokens write on",
		edits: []edit{{"cmd/holdfast/agent/loss.go", "return l.lease.Token"}},
		found: lossOfABlock,
		says:  `HOLDFAST_FENCE=000000000000001`,
	},
}
