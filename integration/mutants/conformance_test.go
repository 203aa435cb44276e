package mutants_test

func init() { mutants = append(mutants, conformance...) }

// conforms is the suite of some cases of one file, run with the Go client.
func conforms(file, cases string) suite {
	return suite{folder: "integration/conformance", run: "^TestConformance$/^go$/^" + file + "$/^(" + cases + ")$"}
}

// conformance are mutants of the Go client, found by the cases that every client must pass.
var conformance = []mutant{
	{
		name: "LeaseFromTheAnswer",
		harm: "a lease counts from the answer, so a client takes a grant for a lock when its lease is over",
		edits: []edit{{
			"clients/holdfast/handles.go",
			"Renewal: lease.NewRenewal(lease.New(clock.Now(), millis(l.GetRemainingMs()), o.ttl), sent, c.begun),",
		}},
		found: conforms("faults", "grant-too-late"),
		says:  `token: want "2", got "1"`,
	},
	{
		name: "LeaseFromTheFirstAttempt",
		harm: "a lease counts from the beginning of the wait, so nothing is had that was waited for longer than a TTL",
		edits: []edit{{
			"clients/holdfast/acquire.go",
			"l, again, err = a.answered(ctx, reply, clock.Now().Add(-time.Since(a.begun)))",
		}},
		found: conforms("faults", "wait-longer-than-a-lease"),
		says:  `token: want "2"|3 grants came|valid: want true`,
	},
	{
		name: "AnotherIDForEachAttempt",
		harm: "a repeated acquire is another request, which its own lease keeps out",
		edits: []edit{{
			"clients/holdfast/acquire.go",
			"a.request.RequestId, a.request.WaitMs = rand.Text(), inMillis(wait)",
		}},
		found: conforms("sharing", "answer-lost"),
		says:  `token: want "1", got "2"`,
	},
	{
		name: "WaitCountedAnew",
		harm: "each attempt waits for the whole time again, and a caller gets a lock that it does not wait for any " +
			"more",
		edits: []edit{{"clients/holdfast/acquire.go", "left = min(left, a.options.maxWait)"}},
		found: conforms("faults", "wait-is-not-counted-anew"),
		says:  `want the error \{"code":"timed_out"\}, got`,
	},
	{
		name:  "WaitBeyondTheLimit",
		harm:  "a call that may wait for hours is refused",
		edits: []edit{{"clients/holdfast/acquire.go", "left := 100 * time.Hour"}},
		found: conforms("faults", "long-wait"),
		says:  `step 4 \{"until":\{"waiting":"faults.long-wait"`,
	},
	{
		name:  "SecondGrantGivenBack",
		harm:  "a late answer to an earlier attempt releases the lock that is held",
		edits: []edit{{"clients/holdfast/handles.go", "if s.losses.has(id) || s.tombstones[k].has(id.token) {"}},
		found: conforms("faults", "grant-twice"),
		says:  `held: want true, got false`,
	},
	{
		name:  "LostLeaseGivenBack",
		harm:  "a late answer releases a lease that was lost, and the next holder comes in where it was to be held back",
		edits: []edit{{"clients/holdfast/handles.go", "if s.find(id) != nil || s.tombstones[k].has(id.token) {"}},
		found: suite{module: "clients", folder: "holdfast", run: "^TestGrantToALateAttempt$"},
		says:  `the lease was given back`,
	},
	{
		name: "LateGrantKept",
		harm: "a grant that comes when its call has failed stays held until it runs out",
		edits: []edit{
			{"clients/holdfast/acquire.go", "if x.Definite() {"},
			{"clients/holdfast/client.go", "orphan := func(*messages.Lease) {}"},
		},
		found: conforms("cancel", "granted-out-of-the-queue"),
		says:  `step \d+ \{"until":\{"free"`,
	},
	{
		name:  "NotNormalised",
		harm:  "the same word, typed on another system, is another lock or none",
		edits: []edit{{"clients/holdfast/acquire.go", ""}},
		found: conforms("keys", "one-lock-in-two-forms"),
		says:  `"code":"invalid"`,
	},
	{
		name: "TokenAsFence",
		harm: "readers at the same time have different fences, so the protected resource refuses the one that came " +
			"first",
		edits: []edit{{
			"clients/holdfast/handles.go",
			"claim: Claim{Resource: resource, Token: max(fenceOf(l), Token(l.GetToken()))},",
		}},
		found: conforms("sharing", "readers"),
		says:  `fence: want "000000000000001", got "000000000000002"`,
	},
	{
		name:  "NoSecret",
		harm:  "who knows the name of an owner can release its lock",
		edits: []edit{{"clients/holdfast/core.go", "if c.deployment.everyNodeOffers(messages.FeatureSecrets) {"}},
		found: conforms("secrets", "release"),
		says:  `the result \{"status":"RELEASED"\} is another one`,
	},
	{
		name:  "ShorterLeaseNotBelieved",
		harm:  "a lease that the service may have shortened counts for its former time, beside the next holder's",
		edits: []edit{{"clients/holdfast/internal/lease/estimate.go", ""}},
		found: conforms("extend", "shorter-without-an-answer"),
		says:  `"lost":"l"`,
	},
	{
		name: "AnswersInTheOrderOfTheirArrival",
		harm: "a late answer to an earlier extension prolongs a lease that was shortened since",
		edits: []edit{
			{"clients/holdfast/internal/lease/estimate.go", ""},
			{"clients/holdfast/internal/lease/estimate.go", "if order == 0 || order > 0 {"},
			{"clients/holdfast/internal/lease/estimate.go", "return over, a.id == by.id"},
			{"clients/holdfast/internal/lease/estimate.go", "return over, a.id == by.id"},
		},
		found: conforms("extend", "late-answer"),
		says:  `"lost":"l"`,
	},
	{
		name:  "CoverageIsForever",
		harm:  "a lock of a session that was broken counts as held for as long as the session is kept",
		edits: []edit{{"clients/holdfast/session.go", "if x.since.IsZero() {"}},
		found: conforms("sessions", "one-broken"),
		says:  `"lost":"l"`,
	},
	{
		name:  "SessionKeepsWhatIsNotWanted",
		harm:  "a lock whose release was lost stays held for as long as its client has others",
		edits: []edit{{"clients/holdfast/release.go", "return"}},
		found: conforms("sessions", "release-unanswered"),
		says:  `step \d+ \{"until":\{"free"`,
	},
	{
		name:  "LossFoundByASetIgnored",
		harm:  "a holder whose call has shown that its lock is lost goes on to take it for held",
		edits: []edit{{"clients/holdfast/set.go", "if h.phase != holding {"}},
		found: conforms("metadata", "of-a-broken-lock"),
		says:  `lost: want true, got false`,
	},
	{
		name: "LossAtTheEndHidden",
		harm: "work that was not alone is reported as done under its lock",
		edits: []edit{{
			"clients/holdfast/acquire.go",
			"if failure := held.Release(ctx); !valid && failure != nil && ctx.Err() == nil && !errors.Is(failure, ErrLost) {",
		}},
		found: conforms("scoped", "lost-at-the-end"),
		says:  `want the error \{"code":"lost"`,
	},
	{
		name: "WaitOutlastsClose",
		harm: "a call that waits is not ended by Close, and Close does not return",
		edits: []edit{{
			"clients/holdfast/acquire.go",
			"r := request.Request{Op: messages.OpAcquire, Key: a.key, Message: a.message,",
		}},
		found: conforms("close", "ends-waits"),
		says:  `close: no answer`,
	},
}
