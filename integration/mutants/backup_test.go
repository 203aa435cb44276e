package mutants_test

func init() { mutants = append(mutants, backups...) }

// backups are mutants of backup and restore.
var backups = []mutant{
	{
		name:  "RestoreForgetsToRaise",
		harm:  "tokens that were issued after the backup are issued again, and a guard accepts a stale holder",
		edits: []edit{{"backup/restore.go", "return r.Contents.Highest"}},
		found: suite{folder: "backup", run: "^TestRestoreOfForgottenNames$"},
		says:  `has token \d+ after token`,
	},
	{
		name:  "RestoreRaisesEachNameFromItsOwnToken",
		harm:  "a name that was forgotten and used after the backup gets its tokens again",
		edits: []edit{{"backup/restore.go", "held.Reserved = held.GetGrant().GetToken() + r.Ahead"}},
		found: suite{folder: "backup", run: "^TestRestoreOfForgottenNames$"},
		says:  `has token \d+ after token`,
	},
	{
		name: "BackupForgetsABlock",
		harm: "tokens of a block are issued again after a restore",
		edits: []edit{{
			"backup/contents.go",
			"c.Highest = max(c.Highest, messages.Token(e.GetReserved()), messages.Token(e.GetGrant().GetToken()))",
		}},
		found: suite{folder: "backup", run: "^TestRestoreOfARest$"},
		says:  `it has`,
	},
	{
		name:  "RestoreForgetsTheLowWaterMark",
		harm:  "a name that was first used after the backup gets its tokens again",
		edits: []edit{{"backup/restore.go", ""}},
		found: suite{folder: "cmd/holdfast", run: "^TestRestore$/^SameShards$"},
		says:  `of "later" after token`,
	},
	{
		name:  "RestoreLosesTheSecrets",
		harm:  "a holder cannot release its lock after a restore, and others can",
		edits: []edit{{"backup/restore.go", "held.Reserved, held.Grant.SecretHash = uint64(r.floor()), nil"}},
		found: suite{folder: "backup", run: "^TestRestoredTokens$"},
		says:  `is held by`,
	},
	{
		name:  "BackupMissesWhatWasCompacted",
		harm:  "a backup lacks the locks that a compaction moved while it was read",
		edits: []edit{{"backup/copy.go", "if _ = isRead; missing == nil || last == from {"}},
		found: suite{folder: "backup", run: "^TestCopyDuringCompaction$"},
		says:  `when the backup began`,
	},
	{
		name:  "NodeStartsOnAPart",
		harm:  "a node starts on what an interrupted restore has left, and issues tokens of the rest again",
		edits: []edit{{"jetstream/layout.go", `if config.Metadata[metaRestore] != "x" {`}},
		found: suite{folder: "jetstream", run: "^TestInterruptedRestore$"},
		says:  `want the restore of the deployment is not finished`,
	},
}
