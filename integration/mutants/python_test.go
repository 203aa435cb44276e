package mutants_test

func init() {
	mutants = append(mutants, python...)
	languages["python"] = language{
		folder: "clients/python",
		linked: ".venv",
		left:   []string{".hypothesis", ".pytest_cache", ".ruff_cache", "dist"},
		// Nothing is built. The check finds what does not parse, and names that are not defined.
		build:  ".venv/bin/ruff check --quiet --isolated --select E9,F63,F7,F82 src",
		driver: "env PYTHONPATH=COPY/src COPY/.venv/bin/python COPY/conformance/driver.py",
		tests:  `PYTHONPATH=src .venv/bin/pytest -q "$1" -k "$2"`,
	}
}

// pythonCases are conformance cases of one file, run with the Python client.
func pythonCases(file, cases string) suite {
	return suite{client: "python", run: "^" + file + "$/^(" + cases + ")$"}
}

// pythonTests are tests of one file that need no service.
func pythonTests(file, tests string) suite {
	return suite{client: "python", folder: "tests/" + file, run: tests}
}

// python are mutants of the Python client, found by the conformance cases and its tests.
var python = []mutant{
	{
		name: "PythonLeaseOutlivesItsTTL",
		harm: "a client takes a lock for held when the service has granted it to the next one",
		edits: []edit{{
			"clients/python/src/holdfast_client/_estimate.py",
			"self.until = sent + min(remaining, ttl) + ttl",
		}},
		found: pythonCases("lost", "not-renewed"),
		says:  `was taken for held`,
	},
	{
		name: "PythonLeaseCountsFromTheAnswer",
		harm: "a lease counts from the answer, so a client takes a grant for a lock when its lease is over",
		edits: []edit{{
			"clients/python/src/holdfast_client/_sender.py",
			"answer = Answer(id, _clock.now(), route.shard is not None, status, reply)",
		}},
		found: pythonCases("faults", "grant-too-late"),
		says:  `token: want "2", got "1"`,
	},
	{
		name: "PythonForgedAnswerIsTaken",
		harm: "who can publish to the inbox of a client makes it believe in a lock",
		edits: []edit{{
			"clients/python/src/holdfast_client/_sender.py",
			`if route.op == "" and not answer.is_about(route.key, self._owner):`,
		}},
		found: pythonCases("forged", "acquire-resource"),
		says:  `fence: want "000000000000001", got "000000000000099"`,
	},
	{
		name: "PythonNothingIsRenewed",
		harm: "locks are lost while their holders work",
		edits: []edit{{
			"clients/python/src/holdfast_client/_renewal.py",
			"self._line_up(sent + 1e9 - random.random() * third / 16)",
		}},
		found: pythonCases("lost", "renewed"),
		says:  `status: want "TIMEOUT", got "GRANTED"`,
	},
	{
		name: "PythonWaitCountedAnew",
		harm: "each attempt waits for the whole time again, and a caller gets a lock that it does not wait for any more",
		edits: []edit{{
			"clients/python/src/holdfast_client/_acquisition.py",
			"return max(min(longest, self._terms.wait), 0.001)",
		}},
		found: pythonCases("faults", "wait-is-not-counted-anew"),
		says:  `want the error \{"code":"timed_out"\}, got`,
	},
	{
		name: "PythonNewRequestEachTime",
		harm: "a repeated acquire is another request, which takes another permit",
		edits: []edit{{
			"clients/python/src/holdfast_client/_acquisition.py",
			`m: dict[str, object] = {"ttl_ms": millis(t.ttl), "request_id": secrets.token_hex(16)}`,
		}},
		found: pythonCases("sharing", "answer-lost"),
		says:  `token: want "1", got "2"`,
	},
	{
		name:  "PythonSecondGrantGivenBack",
		harm:  "a late answer to an earlier attempt releases the lock that is held",
		edits: []edit{{"clients/python/src/holdfast_client/_handles.py", `if lease.get("owner") != self.core.owner:`}},
		found: pythonCases("faults", "grant-twice"),
		says:  `held: want true, got false|it is not held any more`,
	},
	{
		name:  "PythonCancelLeavesTheRequest",
		harm:  "a call that was cancelled waits on, and its lock is held by nothing when it is granted",
		edits: []edit{{"clients/python/src/holdfast_client/_acquisition.py", "if x is not None:"}},
		found: pythonCases("queue", "cancelled"),
		says:  `"until":\{"waiting":"queue.cancelled","count":0\}`,
	},
	{
		name:  "PythonFenceWithoutZeros",
		harm:  "stores that compare fences as text accept a stale holder",
		edits: []edit{{"clients/python/src/holdfast_client/fence/_claim.py", `return f"{token:d}"`}},
		found: pythonCases("acquire", "fence"),
		says:  `fence: want "000000000000001", got "1"`,
	},
	{
		name:  "PythonForeignHolderIsNoLoss",
		harm:  "a client receives the answer that another owner has its lock, and goes on until its lease would be over",
		edits: []edit{{"clients/python/src/holdfast_client/_failures.py", ""}},
		found: pythonCases("lost", "broken-and-taken"),
		says:  `reason: want "not_owner", got "deadline"`,
	},
	{
		name: "PythonNameInAnotherForm",
		harm: "two names that differ in characters of compatibility are one lock here, and two for the other clients",
		edits: []edit{{
			"clients/python/src/holdfast_client/_key.py",
			`return name if name.isascii() else unicodedata.normalize("NFKC", name)`,
		}},
		found: pythonCases("keys", "nothing-but-nfc"),
		says:  `key: want "=EF=AC=81", got "fi"`,
	},
	{
		name:  "PythonUnknownIsTakenForNoEffect",
		harm:  "a call that may have had its effect is reported as one that had none",
		edits: []edit{{"clients/python/src/holdfast_client/_exchange.py", "return not self._unsure"}},
		found: pythonCases("restart", "paused"),
		says:  `code: want "unknown", got "unavailable"`,
	},
	{
		name:  "PythonNoNodeIsFinal",
		harm:  "calls fail while no node runs, instead of waiting for one",
		edits: []edit{{"clients/python/src/holdfast_client/_exchange.py", "return False"}},
		found: pythonCases("errors", "no-node"),
		says:  `code: want "unavailable", got "unknown"`,
	},
	{
		name:  "PythonBatchesAreNotTried",
		harm:  "the calls of a user who may not send batches wait until they are repeated",
		edits: []edit{{"clients/python/src/holdfast_client/_batching.py", "return self._offered"}},
		found: pythonTests("test_batching.py", "are_tried"),
		says:  `assert \(True, True\) == \(False, True\)`,
	},
	{
		name:  "PythonTokenGivenTwice",
		harm:  "two uses of a cached lease have one token, so a delayed write of the first counts in the second",
		edits: []edit{{"clients/python/src/holdfast_client/_cached.py", "self._next += 0"}},
		found: pythonCases("cached", "again"),
		says:  `fence: want "000000000000002", got "000000000000001"`,
	},
	{
		name:  "PythonChildTakesItsParentsTokens",
		harm:  "a forked child and its parent give the same tokens to uses of a cached lease",
		edits: []edit{{"clients/python/src/holdfast_client/_client.py", "pass"}},
		found: pythonTests("test_cached.py", "forked_child"),
		says:  `DID NOT RAISE`,
	},
	{
		name:  "PythonUseOfAnExpiredLease",
		harm:  "a use begins when its lease is nearly over or is over already, and others have the lock beside it",
		edits: []edit{{"clients/python/src/holdfast_client/_cached.py", "if not handle.active:"}},
		found: pythonTests("test_cached.py", "quarter_of_the_ttl"),
		says:  `assert <.*Use object.*> is None`,
	},
	{
		name:  "PythonClosingLeaseIsUsed",
		harm:  "a client keeps a cached lock from others for as long as it has calls of its own",
		edits: []edit{{"clients/python/src/holdfast_client/_cached.py", "self.open = self.open and self.use is not None"}},
		found: pythonCases("cached", "closing"),
		says:  `FAIL: .*/cached/closing`,
	},
	{
		name:  "PythonNoticeOfAnyLease",
		harm:  "a notice about one lock has all others given back",
		edits: []edit{{"clients/python/src/holdfast_client/_handles.py", "for handle in tuple(self.held.values()):"}},
		found: pythonCases("notices", "two"),
		says:  `want the error \{"code":"cancelled"\}`,
	},
	{
		name:  "PythonLongestHoldExceeded",
		harm:  "the service has a lock for longer than its longest hold, whose program may hang",
		edits: []edit{{"clients/python/src/holdfast_client/_extensions.py", "left = NEVER"}},
		found: pythonTests("test_extensions.py", "longest_hold"),
		says:  `assert \[\(30000, 1\),`,
	},
}
