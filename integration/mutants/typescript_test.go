package mutants_test

func init() { mutants = append(mutants, typescript...) }

// typescriptCases are the conformance cases that find them, of which each takes seconds.
var typescriptCases = suite{
	client: "typescript",
	run: "^(acquire|cached|errors|forged|keys|lost|notices|queue|sessions)$/" +
		"^(acquire-resource|again|alone|answer-lost|broken-and-taken|cancelled|closing|composed|fence|no-node|" +
		"not-renewed|one-broken|renewed|request-lost|unknown-extension)$",
}

// typescript are mutants of the TypeScript client, found by the conformance cases.
var typescript = []mutant{
	{
		name:  "TypeScriptLeaseOutlivesItsTTL",
		harm:  "a client takes a lock for held when the service has granted it to the next one",
		edits: []edit{{"clients/typescript/src/estimate.ts", "this.until = sent + Math.min(remaining, ttl) + ttl;"}},
		found: typescriptCases,
		says:  `was taken for held \d+ µs after "other" was granted`,
	},
	{
		name: "TypeScriptForgedAnswerIsTaken",
		harm: "who can publish to the inbox of a client makes it believe in a lock",
		edits: []edit{{
			"clients/typescript/src/exchange.ts",
			`if (key === "" && answer.reply && !isAbout(answer.reply, key, owner)) return; // the right one may yet come`,
		}},
		found: typescriptCases,
		says:  `fence: want "000000000000001", got "000000000000099"`,
	},
	{
		name:  "TypeScriptNothingIsRenewed",
		harm:  "locks are lost while their holders work",
		edits: []edit{{"clients/typescript/src/renewal.ts", "this.due = sent + 1000 * third;"}},
		found: typescriptCases,
		says:  `status: want "TIMEOUT"`,
	},
	{
		name:  "TypeScriptForeignHolderIsNoLoss",
		harm:  "a client receives the answer that another owner has its lock, and goes on until its lease would be over",
		edits: []edit{{"clients/typescript/src/failures.ts", "return undefined;"}},
		found: typescriptCases,
		says:  `reason: want "not_owner", got "deadline"`,
	},
	{
		name: "TypeScriptUnknownIsTakenForNoEffect",
		harm: "a call that may have had its effect is taken for one that had none, so that its request waits on in " +
			"the queue",
		edits: []edit{{"clients/typescript/src/exchange.ts", "return this.#open.size >= 0 || this.#unsure;"}},
		found: typescriptCases,
		says:  `queue\.cancelled(: the status)? is `,
	},
	{
		name: "TypeScriptNoResponderIsAnAnswer",
		harm: "calls fail while no node runs, instead of waiting for one",
		edits: []edit{{
			"clients/typescript/src/exchange.ts",
			"if (answer.noResponders && this.line.router.shards === 0) {",
		}},
		found: typescriptCases,
		says:  `code: want "unavailable", got "unknown"`,
	},
	{
		name:  "TypeScriptRequestIsNotRepeated",
		harm:  "a lost message costs the call",
		edits: []edit{{"clients/typescript/src/pauses.ts", "if (n === 0) return 1e9;"}},
		found: typescriptCases,
		says:  `request-lost.*outcome unknown: no answer in time`,
	},
	{
		name:  "TypeScriptAttemptIsAnotherRequest",
		harm:  "a client is refused a lock because it holds it itself",
		edits: []edit{{"clients/typescript/src/acquisition.ts", "request_id: randomText(),"}},
		found: typescriptCases,
		says:  `"call":"acquire",.*"name":"acquire\.answer-lost"`,
	},
	{
		name:  "TypeScriptNothingIsWithdrawn",
		harm:  "a call that was cancelled is granted the lock all the same, and nobody releases it",
		edits: []edit{{"clients/typescript/src/acquisition.ts", "const deadline = this.#matters * 0;"}},
		found: typescriptCases,
		says:  `queue\.cancelled(: the status)? is `,
	},
	{
		name:  "TypeScriptFenceWithoutZeros",
		harm:  "stores that compare fences as text accept a stale holder",
		edits: []edit{{"clients/typescript/src/fence.ts", `return token.toString().padStart(1, "0");`}},
		found: typescriptCases,
		says:  `fence: want "0+`,
	},
	{
		name:  "TypeScriptNamesAreNotNormalised",
		harm:  "two spellings of one name are two locks",
		edits: []edit{{"clients/typescript/src/key.ts", `const resource = name.normalize("NFD");`}},
		found: typescriptCases,
		says:  `key: want`,
	},
	{
		name: "TypeScriptTokenIsGivenTwice",
		harm: "a store accepts a late write of the holder before, since it has the same fence",
		edits: []edit{{
			"clients/typescript/src/cache.ts",
			"const use = new Use(this, handle, handle.token + BigInt(this.#given++ * 0));",
		}},
		found: typescriptCases,
		says:  `fence: want "000000000000002", got "000000000000001"`,
	},
	{
		name:  "TypeScriptClosingLeaseIsUsed",
		harm:  "a client keeps a cached lock from others for as long as it has calls of its own",
		edits: []edit{{"clients/typescript/src/cache.ts", "if (handle === undefined) return undefined;"}},
		found: typescriptCases,
		says:  `FAIL: .*/cached/closing`,
	},
	{
		name:  "TypeScriptNoticeIsIgnored",
		harm:  "others wait for a cached lock until it is renewed or was not used for long",
		edits: []edit{{"clients/typescript/src/leases.ts", "if (waiting < 0) lease.noticed();"}},
		found: typescriptCases,
		says:  `FAIL: .*/notices/alone`,
	},
}
