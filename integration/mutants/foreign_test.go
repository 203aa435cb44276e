package mutants_test

func init() { mutants = append(mutants, foreign...) }

// foreignGuards is a scenario of the guards' suite with the guards in a language.
func foreignGuards(client, module, test, scenario string) suite {
	return suite{
		client: client, module: "clients/fence/" + module, run: "^" + test + "$/^" + client + "$/^" + scenario + "$",
	}
}

// foreign are mutants of the guards in TypeScript, Python and Java. Those in the script of Redis have the names that they have
// in Go: the script is the same.
var foreign = []mutant{
	{
		name:  "RepetitionNotKnown",
		harm:  "a write that was made is refused as if it had not been, because its driver sent it again",
		edits: []edit{{"clients/typescript/src/fence/redis.ts", "if before == false then before = nil end"}},
		found: foreignGuards("typescript", "fenceredis", "TestForeign", "Network"),
		says:  `it was written, and then refused`,
	},
	{
		name:  "RepetitionNotKnown",
		harm:  "a write that was made is refused as if it had not been, because its driver sent it again",
		edits: []edit{{"clients/python/src/holdfast_client/fence/_script.py", "if before == false then before = nil end"}},
		found: foreignGuards("python", "fenceredis", "TestForeign", "Network"),
		says:  `it was written, and then refused`,
	},
	{
		name:  "ChangeNotNoticed",
		harm:  "a holder that was paused between its read and its write overwrites what came in between",
		edits: []edit{{"clients/typescript/src/fence/redis.ts", ""}},
		found: foreignGuards("typescript", "fenceredis", "TestForeign", "Paused"),
		says:  `acknowledged were`,
	},
	{
		name:  "ChangeNotNoticed",
		harm:  "a holder that was paused between its read and its write overwrites what came in between",
		edits: []edit{{"clients/python/src/holdfast_client/fence/_script.py", ""}},
		found: foreignGuards("python", "fenceredis", "TestForeign", "Paused"),
		says:  `acknowledged were`,
	},
	{
		name: "TypeScriptEqualTokenIsRefused",
		harm: "a holder writes once, and is refused from then on",
		edits: []edit{{
			"clients/typescript/src/fence/rule.ts", "if (claim.token <= highest) throw new StaleClaimError(claim, highest);",
		}},
		found: suite{
			client: "typescript", module: "clients", folder: "fence/fencefile",
			run: "^TestForeign$/^typescript$/^EqualToken$",
		},
		says: `stale after`,
	},
	{
		name:  "PythonEqualTokenIsRefused",
		harm:  "a holder writes once, and is refused from then on",
		edits: []edit{{"clients/python/src/holdfast_client/fence/_rule.py", "if claim.token <= highest:"}},
		found: suite{
			client: "python", module: "clients", folder: "fence/fencefile", run: "^TestForeign$/^python$/^EqualToken$",
		},
		says: `stale after`,
	},
	{
		name: "TypeScriptEveryTokenPasses",
		harm: "a stale holder writes",
		edits: []edit{{
			"clients/typescript/src/fence/pg.ts",
			`"DO UPDATE SET token = excluded.token WHERE $3::bigint > 0 RETURNING token",`,
		}},
		found: foreignGuards("typescript", "fencesql", "TestForeignPostgreSQL", "Textbook"),
		says:  `want a StaleError`,
	},
	{
		name: "PythonEveryTokenPasses",
		harm: "a stale holder writes",
		edits: []edit{{
			"clients/python/src/holdfast_client/fence/_table.py",
			`f"DO UPDATE SET token = excluded.token WHERE {passed} >= 0 RETURNING token"`,
		}},
		found: foreignGuards("python", "fencesql", "TestForeignSQLite", "Textbook"),
		says:  `want a StaleError`,
	},
	{
		name:  "TypeScriptObjectsAreOverwritten",
		harm:  "a holder that was paused between its check and its write overwrites what came in between",
		edits: []edit{{"clients/typescript/src/fence/s3.ts", "const condition = {};"}},
		found: foreignGuards("typescript", "fences3", "TestForeign", "Paused"),
		says:  `acknowledged were`,
	},
	{
		name:  "PythonObjectsAreOverwritten",
		harm:  "a holder that was paused between its check and its write overwrites what came in between",
		edits: []edit{{"clients/python/src/holdfast_client/fence/s3.py", "condition: dict[str, str] = {}"}},
		found: foreignGuards("python", "fences3", "TestForeign", "Paused"),
		says:  `acknowledged were`,
	},
	{
		name:  "JavaEqualTokenIsRefused",
		harm:  "a holder writes once, and is refused from then on",
		edits: []edit{{javaFence + "Rule.java", "if (claim.token() <= highest) {"}},
		found: suite{
			client: "java", module: "clients", folder: "fence/fencefile", run: "^TestForeign$/^java$/^EqualToken$",
		},
		says: `stale after`,
	},
	{
		name: "JavaEveryTokenPasses",
		harm: "a stale holder writes",
		edits: []edit{{
			javaFence + "jdbc/Guard.java", `+ "DO UPDATE SET token = excluded.token WHERE ? >= 0 RETURNING token";`,
		}},
		found: foreignGuards("java", "fencesql", "TestForeignPostgreSQL", "Textbook"),
		says:  `want a StaleError`,
	},
	{
		name:  "JavaEveryTokenPassesInMySQL",
		harm:  "a stale holder writes",
		edits: []edit{{javaFence + "jdbc/Guard.java", ""}},
		found: foreignGuards("java", "fencesql", "TestForeignMariaDB", "Textbook"),
		says:  `want a StaleError`,
	},
	{
		name:  "JavaFenceWithoutZeros",
		harm:  "a resource that compares fences as text takes an ended lease for the later one",
		edits: []edit{{javaFence + "Fence.java", `return digits;`}},
		found: javaTests("ClaimTest", "passesByTheRule"),
		says:  `stale fencing token: 34, after 35 was seen`,
	},
	{
		name:  "JavaWritesWithoutTheLock",
		harm:  "a change goes on whose lock was taken away, and overwrites that of the next one",
		edits: []edit{{javaFence + "file/Directory.java", ""}, {javaFence + "file/Directory.java", ""}},
		found: javaTests("DirectoryTest", "writesNothingWhenTheLockWasTakenAway"),
		says:  `Expected java.io.IOException to be thrown`,
	},
}
