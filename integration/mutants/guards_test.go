package mutants_test

func init() { mutants = append(mutants, guards...) }

// guards are mutants of clients/fence, found by the guards' own suites.
var guards = []mutant{
	{
		name:  "RepetitionNotKnown",
		harm:  "a write that was made is refused as if it had not been, because its driver sent it again",
		edits: []edit{{"clients/fence/fenceredis/script.go", "if before == false then before = nil end"}},
		found: suite{module: "clients/fence/fenceredis", run: "^TestConformance$/^Run$/^Network$"},
		says:  `it was written, and then refused`,
	},
	{
		name: "RefusalBelieved",
		harm: "a request that was carried out is refused as if it had not been, because net/http sent it again",
		edits: []edit{{
			"clients/fence/fencehttp/problem.go",
			`return key && other || r.Method == "" || isSafe(r.Method)`,
		}},
		found: suite{module: "clients", folder: "fence/fencehttp", run: "^TestRepeatedByTheClient$"},
		says:  `want one that is ErrUnknown`,
	},
	{
		name:  "HeadersByCase",
		harm:  "a claim in another spelling of the header passes unchecked",
		edits: []edit{{"messages/claim.go", "func isField(got, name string) bool { return got == name }"}},
		found: suite{folder: "integration/fencenats", run: "^TestOptionalClaims$"},
		says:  `code "", want "409"`,
	},
	{
		name: "NameAfterTheMark",
		harm: "a write that is refused for its name shuts out the present holder",
		edits: []edit{{"clients/fence/fencefile/dir.go",
			`if err := d.raise(c); err != nil {
		verdict = err
		return err
	}
	if err := check(); err != nil {`}},
		found: suite{module: "clients", folder: "fence/fencefile", run: "^TestLinks$"},
		says:  `stale fencing token`,
	},
	{
		name: "ChangeNotNoticed",
		harm: "a holder that was paused between its read and its write overwrites what came in between, or is " +
			"overwritten",
		edits: []edit{{"clients/fence/fenceredis/script.go", ""}},
		found: suite{module: "clients/fence/fenceredis", run: "^TestConformance$/^Set$/^Paused$"},
		says:  "acknowledged were",
	},
	{
		name:  "LockThroughALink",
		harm:  "whoever may write in the directory has the guard open, and create, a file elsewhere",
		edits: []edit{{"clients/fence/fencefile/dir.go", "flock.SetFlag(os.O_RDONLY|os.O_CREATE|noFollow&0))"}},
		found: suite{module: "clients", folder: "fence/fencefile", run: "^TestLinkInPlaceOfTheGuardsFiles$"},
		says:  "at the end of the link",
	},
}
