package mutants_test

func init() { mutants = append(mutants, typescript...) }

// cases are conformance cases of the TypeScript client.
func cases(run string) suite { return suite{client: "typescript", run: run} }

// typescript are mutants of the TypeScript client, found by the conformance cases.
var typescript = []mutant{
	{
		name:  "TypeScriptLeaseOutlivesItsTTL",
		harm:  "a client takes a lock for held when the service has granted it to the next one",
		edits: []edit{{"clients/typescript/src/estimate.ts", "this.#until = sent + Math.min(remaining, ttl) - margin(ttl);", "this.#until = sent + Math.min(remaining, ttl) + ttl;"}},
		found: cases("^lost$/^not-renewed$"),
		says:  `granted`,
	},
	{
		name:  "TypeScriptLeaseCountsFromTheAnswer",
		harm:  "a client whose answer was late takes a lock for held beyond its end",
		edits: []edit{{"clients/typescript/src/exchange.ts", "this.#finish({ answer, sent: attempt.sent, definite: this.#definite });", "this.#finish({ answer, sent: this.line.clock.now(), definite: this.#definite });"}},
		found: cases("^acquire$/^late-answer$"),
		says:  `x`,
	},
	{
		name:  "TypeScriptNothingIsRenewed",
		harm:  "locks are lost while their holders work",
		edits: []edit{{"clients/typescript/src/renewal.ts", "    this.#due = sent + third * (1 - Math.random() / 16);\n", "    this.#due = sent + 1e9 * third;\n"}},
		found: cases("^lost$/^renewed$"),
		says:  `x`,
	},
	{
		name:  "TypeScriptUnknownIsTakenForNoEffect",
		harm:  "a call that may have had its effect is reported as one that had none",
		edits: []edit{{"clients/typescript/src/exchange.ts", "return this.#open.size === 0 && !this.#unsure;", "return true;"}},
		found: cases("^errors$/^unknown-extension$"),
		says:  `x`,
	},
	{
		name:  "TypeScriptUnavailableIsFinal",
		harm:  "calls fail while another node takes a shard over",
		edits: []edit{{"clients/typescript/src/exchange.ts", "if (answer.noResponders) {", "if (answer.noResponders && direct) {"}},
		found: cases("^restart$/^(restarted|killed|waiting)$"),
		says:  `x`,
	},
	{
		name:  "TypeScriptAttemptIsNotRepeated",
		harm:  "a lost message costs the call",
		edits: []edit{{"clients/typescript/src/pauses.ts", "if (n === 0) return 500;", "if (n === 0) return 1e9;"}},
		found: cases("^acquire$/^request-lost$"),
		says:  `x`,
	},
	{
		name:  "TypeScriptFenceWithoutZeros",
		harm:  "stores that compare fences as text accept a stale holder",
		edits: []edit{{"clients/typescript/src/fence.ts", `padStart(15, "0")`, `padStart(1, "0")`}},
		found: cases("^acquire$/^fence$"),
		says:  `x`,
	},
	{
		name:  "TypeScriptForeignHolderIsNoLoss",
		harm:  "a client is told that another owner has its lock, and goes on",
		edits: []edit{{"clients/typescript/src/failures.ts", "    case \"NOT_OWNER\":\n      return \"not_owner\";\n", "    case \"NOT_OWNER\":\n      return undefined;\n"}},
		found: cases("^lost$/^broken-and-taken$"),
		says:  `x`,
	},
}
