package mutants_test

// The suites that find them.
var (
	live = suite{folder: "integration/linear", run: "^TestKilledServerIsLinear$"}
	// trials are of whole deployments in virtual time.
	trials = suite{folder: "integration/simulation", run: "^TestTrials$",
		args: []string{"-test.failfast", "-simulation.trials", "40"}}
	// events are those of a node that crashes.
	contract = suite{folder: "integration/contract", run: "^TestRetainedEventsAreTheJournal$"}
	// nodes are those of a deployment among themselves, in virtual time.
	nodes = suite{folder: "actors/node/assignment", run: "^TestShardThatTakesLongToRead$"}
	// stalled are nodes to which JetStream confirms nothing.
	stalled = suite{folder: "actors/node/assignment", run: "^TestOwnersStayWhenNothingIsConfirmed$"}
	// late is of late copies of requests, in virtual time.
	late = suite{folder: "actors", run: "^TestLateCopy"}
	// requests are repeated and withdrawn, by the wire.
	requests = suite{folder: "integration/contract", run: "^TestRepeatedRequest$"}
	// secrets are of leases and of waiting requests, by the wire; steps are those of one resource.
	secrets        = suite{folder: "integration/contract", run: "^TestSecrets$"}
	waitingSecrets = suite{folder: "integration/contract", run: "^TestSecretsOfWaitingRequests$"}
	steps          = suite{folder: "actors/lease", run: "^TestExamples$"}
	// disks are full, or do not sync, on one node after the other.
	disks = suite{folder: "integration/cluster", run: "^TestDisksRecover$"}
	// holder is of the client that holds a lock.
	holder = suite{folder: "integration/client",
		run: "^(TestBreakIsFelt|TestForgedEventLosesNothing)$/^Renewed$/^Later$"}
	// estimate is of the client's notion of the end of its lease.
	estimate = suite{module: "clients", folder: "holdfast/internal/lease", run: "^TestAnswersOvertake$"}
	// forgery is by a client that may publish where plain events go.
	forgery = suite{folder: "integration/contract", run: "^TestForgedEvents$"}
	// interest is what a server knows of subscribers.
	interest = suite{folder: "jetstream/embedded", run: "^TestInterest$"}
	// batches are of all operations, unheard one whose client is gone.
	batches = suite{folder: "integration/contract", run: "^TestBatchOfAllOperations$"}
	unheard = suite{folder: "integration/contract", run: "^TestBatchWithoutAListener$"}
	// names are more than the node may remember.
	names = suite{folder: "integration/soak", run: "^TestNames$"}
	// sessions are of resources without a node; keeps and ends are of a shard.
	sessions          = suite{folder: "actors/lease", run: "^TestSessions$"}
	sessionsOfTenants = suite{folder: "actors/lease", run: "^TestSessionsOfTenantsAreBounded$"}
	// disconnected are of sessions whose clients are not connected; clientSessions are of the Go client.
	disconnected   = suite{folder: "actors", run: "^TestPatienceBeginsWithTheLastRequest$"}
	clientSessions = suite{
		module: "clients", folder: "holdfast",
		run: "^Test(LossInASession|EndOfKeeps|LateExtension|LateAnswerAfterALoss|ReleaseThatIsLost|LeaseThatLeavesSilently|Orders)$",
	}
	// forgedAnswers come to the inbox of the Go client.
	forgedAnswers = suite{folder: "integration/conformance", run: "^TestConformance$/^go$/^forged$"}
	// anySteps are taken by a client and a service at random.
	anySteps = suite{module: "clients", folder: "holdfast", run: "^TestValidLocksAreHeld$"}
	keeps    = suite{folder: "actors", run: "^TestKeepOfADeposedOwner$"}
	ends     = suite{folder: "actors", run: "^TestSessionEndsInOneCommit$"}
	// pages are of a ledger without a node.
	pages = suite{folder: "actors/ledger", run: "^TestReplayEqualsLive$"}
	// heldBack is of lost leases by the wire, successor of those that a new owner of the shard finds.
	heldBack  = suite{folder: "integration/contract", run: "^TestHeldBack$"}
	successor = suite{folder: "actors", run: "^TestNewOwnerHoldsBack$"}
	// lostLeases are those of a ledger without a node.
	lostLeases = suite{folder: "actors/ledger", run: "^TestSharedReplayEqualsLive$"}
	// owners are verified by NATS; senders are those of requests that another node has taken in.
	owners = suite{folder: "integration/identity",
		run: "^Test(UsersOfOneAccount|JWT|ForgedHeaders|ServerThatDoesNotVerifyUsers)$"}
	senders = suite{folder: "integration/nodes", run: "^TestIdentityOfForwardedRequests$"}
	copies  = suite{folder: "actors/lease", run: "^TestWithKeepsAllFields$"}
	// hostile are clients that speak the raw protocol of NATS at random; parts are those of a listing, from other
	// nodes.
	hostile = suite{folder: "integration/hostile", run: "^TestHostile$"}
	parts   = suite{folder: "actors/node", run: "^FuzzParts$"}
	// rights are those of printed users, deputies nodes that clients ask to publish, apart accounts beside that of the
	// nodes.
	rights   = suite{folder: "integration/access", run: "^TestRightsAreTheTable$"}
	deputies = suite{folder: "integration/access", run: "^TestNodesAreNoDeputies$"}
	apart    = suite{folder: "integration/access", run: "^TestAccountsAreApart$"}
	// tenants are accounts of a server, tenantsOfNodes those of requests that other nodes have taken in.
	tenants        = suite{folder: "integration/tenants", run: "^Test(Names|ErrorsHideTheTenant|Limits|List|Events)$"}
	tenantsOfNodes = suite{folder: "integration/nodes", run: "^TestTenantsOfManyNodes$"}
	// envelopes are those of forwarded requests.
	envelopes = suite{folder: "actors/node/routing", run: "^TestForwardedMessage$"}
	// descendants of a command under a lock have left its process group, and the lock is lost.
	descendants = suite{folder: "cmd/holdfast", run: "^TestLockLostReachesWhatLeftTheGroup$"}
	// certificates are of clients, strangers are servers with the certificate of a client, and loginFiles are those of
	// --auth.
	certificates = suite{folder: "cmd/holdfast", run: "^TestTLSByFlags$"}
	strangers    = suite{folder: "cmd/holdfast", run: "^TestMembersWithTLS$/^OneAuthority$"}
	loginFiles   = suite{folder: "cmd/holdfast", run: "^TestAuthRefusals$"}
	// powerCuts are of all nodes of a cluster at once.
	powerCuts = suite{folder: "integration/faults", run: "^TestFaults$",
		args: []string{"-faults.for", "90s", "-faults.kinds", "power-cut-all"}}
)

// mutants is the list.
var mutants = []mutant{
	{
		name: "TokenReused",
		harm: "the next holder gets the token of the last one, so a guard cannot distinguish them",
		edits: []edit{
			{"actors/lease/grant.go", "Token:        uint64(t.image.Token() + 1),",
				"Token:        max(uint64(t.image.Token())+uint64(min(t.image.Holders(), 1)), 1),"},
			{"actors/ledger/ledger.go", "!i.Admits(g) || g.GetToken() <= last.Grant.GetToken()",
				"!i.Admits(g) || g.GetToken() < last.Grant.GetToken()"},
		},
		found: live,
		says:  `token \d+ is granted behind token`,
	},
	{
		name: "TokenLeftOut",
		harm: "tokens have gaps, so they do not show that a grant is missing",
		edits: []edit{{"actors/lease/grant.go", "Token:        uint64(t.image.Token() + 1),",
			"Token:        uint64(t.image.Token() + 2),"}},
		found: live,
		says:  `token \d+ is granted behind token`,
	},
	{
		name: "AnswerBeforeAppend",
		harm: "a crash forgets a lock that is held",
		edits: []edit{{
			"actors/term.go", "\tif d.mustCommit() {\n\t\tt.batcher.add(d)\n",
			"\tif d.mustCommit() {\n\t\tt.shard.cfg.Outbox.Answer(t.shard.cfg.Shard, " +
				"d.outcome.Answers)\n\t\td.outcome.Answers = nil\n\t\tt.batcher.add(d)\n",
		}},
		found: trials,
		says:  `no such .* is in the journal|the grant is another request|believes that it holds the lock`,
	},
	{
		name: "ExpiryEarly",
		harm: "a lease ends before the time that its holder counts on",
		edits: []edit{{"actors/lease/lease.go", "return now.Add(ttl(g.GetTtlMs()))",
			"return now.Add(ttl(g.GetTtlMs()) * 3 / 4)"}},
		found: live,
		says:  `before its time`,
	},
	{
		name: "KeepOfADeposedOwner",
		harm: "a holder counts on leases that the owner of the shard could not keep alive any more",
		edits: []edit{{
			"actors/sessionterm.go", "\tt.observation.decided(d)\n\tt.batcher.add(d)\n",
			"\tt.answer(d.outcome.Answers)\n\td.outcome.Answers = nil\n\tt.batcher.add(d)\n",
		}},
		found: keeps,
		says:  `got EXTENDED`,
	},
	{
		name:  "SessionLeavesALease",
		harm:  "a session ends, and one of its leases is held all the same",
		edits: []edit{{"actors/lease/session.go", "\treturn all\n", "\treturn all[min(1, len(all)):]\n"}},
		found: ends,
		says:  `NOT_HELD`,
	},
	{
		name: "KeepWithoutEffect",
		harm: "a holder receives the answer that its session goes on, and it does not",
		edits: []edit{{"actors/lease/sessions.go", "\tx.deadline, x.lastRequest = deadline, now\n",
			"\tx.lastRequest = now\n"}},
		found: sessions,
		says:  `want`,
	},
	{
		name:  "RaisedTTLIsNotRecorded",
		harm:  "a new owner of the shard ends the leases of a session before the time that was promised",
		edits: []edit{{"actors/lease/sessions.go", "\tx.raise(ttlMillis)\n\tif !x.IsSettled()", "\tif !x.IsSettled()"}},
		found: sessions,
		says:  `is promised|want`,
	},
	{
		name:  "PatienceFromTheFirstProbe",
		harm:  "a client that has just been answered loses its locks, and takes them for held",
		edits: []edit{{"actors/links.go", "Sub(max(k.since, x.LastRequest()))", "Sub(k.since)"}},
		found: disconnected,
		says:  `want HELD`,
	},
	{
		name: "KeepsAfterALoss",
		harm: "the Go client takes a lock for held that was broken",
		edits: []edit{{"clients/holdfast/session.go", "x.since.IsZero() || r.GetLosses() != x.losses",
			"x.since.IsZero()"}},
		found: clientSessions,
		says:  `is valid|is prolonged`,
	},
	{
		name:  "ForeignReleaseInASession",
		harm:  "the Go client takes a lock for held that another process of its owner has released",
		edits: []edit{{"clients/holdfast/session.go", "return int(r.GetHeld()) == x.users", "return true"}},
		found: clientSessions,
		says:  `is valid and not held`,
	},
	{
		name: "NothingProvesTheLeases",
		harm: "while locks come and go, the Go client takes one for held that another process of its owner has " +
			"released",
		edits: []edit{{"clients/holdfast/session.go", "return sent.Sub(x.proved) < x.known", "return true"}},
		found: clientSessions,
		says:  `is valid and not held`,
	},
	{
		name: "AnswerToAnotherQuestion",
		harm: "who can send to the inbox of a Go client gives it locks that nobody has granted",
		edits: []edit{{"clients/request/attempts.go", "return err == nil && key == a.to.key",
			"return err == nil && key != \"\""}},
		found: forgedAnswers,
		says:  `A grant of another resource than that of the request is no answer`,
	},
	{
		name: "OrderForEachAttempt",
		harm: "each renewal is another request, which the journal records and no cached payload serves",
		edits: []edit{{"clients/holdfast/extensions.go", "\tid := e.sender.Send(",
			"\te.Change()\n\tid := e.sender.Send("}},
		found: clientSessions,
		says:  `requests of the orders`,
	},
	{
		name: "AnswerFromBeforeALoss",
		harm: "the Go client prolongs a lock because of an answer from before its loss",
		edits: []edit{{"clients/holdfast/session.go", "if x.since.IsZero() || !sent.After(x.since) {",
			"if x.since.IsZero() {"}},
		found: clientSessions,
		says:  `a lock that was broken is prolonged`,
	},
	{
		name: "LateExtensionTakesOut",
		harm: "the Go client takes a lock for held that a late extension has taken out of its session",
		edits: []edit{{
			"clients/holdfast/extensions.go", "l.GetSession() == e.session.label && !e.IsOpenBefore(e.since)",
			"l.GetSession() == e.session.label",
		}},
		found: clientSessions,
		says:  `is valid and not held`,
	},
	{
		name:  "SessionIsNotForsaken",
		harm:  "a lease that could not be given back is held for as long as its client holds others",
		edits: []edit{{"clients/holdfast/session.go", "case x.forsaken, x.users == 0:", "case x.users == 0:"}},
		found: clientSessions,
		says:  `the lease is held for ever`,
	},
	{
		name:  "DisconnectIsForgotten",
		harm:  "a client that is cut off takes its locks for held when its session has ended early",
		edits: []edit{{"clients/holdfast/sessions.go", "\t\treturn c.disconnect\n", "\t\treturn math.MaxInt64\n"}},
		found: anySteps,
		says:  `is valid and not held`,
	},
	{
		name: "LeaseOutlivesItsSession",
		harm: "a client receives the answer that its session has ended, and the leases are held all the same",
		edits: []edit{{"actors/lease/member.go", "\tcase messages.Event_EXTENDED:\n",
			"\tcase messages.Event_EXTENDED, messages.Event_RELEASED:\n"}},
		found: live,
		says: `the session has ended, and in the journal its lease has not|no request has asked for this|` +
			`it was carried out 2 times`,
	},
	{
		name: "LeaseMovesIntoAnotherSession",
		harm: "a lease ends with a session that was opened behind its holder's back",
		edits: []edit{{
			"actors/lease/acquire.go",
			"\tif err := otherSession(own, e.Request); " +
				"err != nil {\n\t\tt.answer(e.From, invalid(err))\n\t\treturn\n\t}\n",
			"\tif otherSession(own, e.Request) != nil {\n\t\tr := &messages.ExtendRequest{Session: " +
				"e.Request.GetSession(), TtlMs: e.Request.GetTtlMs()}\n\t\town = t.extend(t.now.Instant, own, " +
				"successor(t, own, r))\n\t}\n",
		}},
		found: sessions,
		says:  `want INVALID`,
	},
	{
		name: "LeasesEndWithTheirOwner",
		harm: "a new owner of the shard ends every lease, though the holders go on",
		edits: []edit{{"actors/ledger/ledger.go", "\t\t\t\te.Restart(now.Instant, l.inherited.GetLeftMs())\n",
			"\t\t\t\te.Restart(now.Add(-1<<42), l.inherited.GetLeftMs())\n"}},
		found: live,
		says:  `before its time`,
	},
	{
		name:  "ExtendWithoutEffect",
		harm:  "a holder receives the answer that its lease goes on, and it does not",
		edits: []edit{{"actors/lease/extend.go", "\t\th = become(t, h, successor(t, h, r))\n", ""}},
		found: live,
		says:  `no such extension is in the journal`,
	},
	{
		name: "LateExtendCounts",
		harm: "an extend that was overtaken ends a lease that is longer by the answer to its holder",
		edits: []edit{{"actors/lease/extend.go", "return order != 0 && order < highest",
			"return order > highest && highest == messages.MaxOrder"}},
		found: live,
		says:  `no request has asked for this|the lease has extends up to|no order of its operations`,
	},
	{
		name: "DowngradeForgetsTheOrder",
		harm: "an extend that is late by a downgrade ends the lease early",
		edits: []edit{{
			"actors/lease/extend.go", "slotsOf(h.Grant)\n\t\tg.ExtendOrder = max(g.GetExtendOrder(), r.GetOrder())",
			"slotsOf(h.Grant)\n\t\tg.ExtendOrder = r.GetOrder()",
		}},
		found: steps,
		says:  `it_keeps_the_numbers`,
	},
	{
		name:  "AnybodyReleases",
		harm:  "who does not hold a lock can release it",
		edits: []edit{{"actors/lease/lookup.go", "\t\tcase !who.owns(g):\n", "\t\tcase who.owner == \"\":\n"}},
		found: live,
		says:  `held twice`,
	},
	{
		name: "StaleTokenReleases",
		harm: "a late release of an earlier lease ends the present one",
		edits: []edit{{"actors/lease/lookup.go", "case token == g.GetToken() || token == g.GetFormer():",
			"case token <= g.GetToken():"}},
		found: live,
		says:  `no such end of a lease is in the journal|no request has asked for this: commit \d+: RELEASED`,
	},
	{
		name: "EveryRequestIsARepetition",
		harm: "a second request of the owner is granted its lease, though another one holds it",
		edits: []edit{{
			"actors/lease/lookup.go", "if h.Grant.GetRequestId() == id && h.Grant.GetOwner() == owner {",
			"if h.Grant.GetOwner() == owner {",
		}},
		found: live,
		says:  `the grant is another request's`,
	},
	{
		name: "GrantWhileHeld",
		harm: "two hold the lock",
		edits: []edit{
			{"actors/lease/acquire.go", "case t.Waiting() == 0 && fits(&t.image, r):",
				"case t.Waiting() == 0 && (fits(&t.image, r) || t.image.Token()%8 == 0):"},
			{"actors/ledger/ledger.go", "!i.Admits(g) || g.GetToken() <= last.Grant.GetToken()",
				"g.GetToken() <= last.Grant.GetToken()"},
		},
		found: live,
		says:  `is granted to .* while token \d+ .* is held`,
	},
	{
		name: "WriterBesideReaders",
		harm: "a writer changes what readers read",
		edits: []edit{
			{"actors/lease/fits.go", "return all <= limitOf(limit) && all <= i.leases.minLimit()",
				"return all <= i.leases.minLimit()"},
			{"actors/lease/fits.go", "if overlap(slotsOf(l.Grant), slotsOf(g)) {",
				"if overlap(slotsOf(l.Grant), nil) {"},
		},
		found: live,
		says:  `is granted to .* while token \d+ .* is held`,
	},
	{
		name: "ReaderOvertakes",
		harm: "readers that come one after the other keep a writer waiting for ever",
		edits: []edit{{"actors/lease/acquire.go", "case t.Waiting() == 0 && fits(&t.image, r):",
			"case fits(&t.image, r):"}},
		found: live,
		says:  `requests were overtaken by`,
	},
	{
		name: "PermitNotGivenBack",
		harm: "a semaphore lets fewer in than it may",
		edits: []edit{{
			"actors/lease/image.go", "\tif last := &i.leases.last; last.isHeld() {\n\t\tn += permitsHeld",
			"\tif last := &i.leases.last; last.Grant != nil {\n\t\tn += permitsHeld",
		}},
		found: live,
		says:  `no order of its operations`,
	},
	{
		name: "PhaseDoesNotMoveOn",
		harm: "a writer's fence keeps out the readers behind it",
		edits: []edit{{
			"actors/lease/image.go", "\tif !i.Held() {\n\t\treturn token\n",
			"\tif phase := i.leases.last.Grant.GetPhase(); " +
				"!i.Held() && phase > 0 {\n\t\treturn phase\n\t}\n\tif !i.Held() {\n\t\treturn token\n",
		}},
		found: live,
		says:  `though nothing is held beside it`,
	},
	{
		name: "SlotTwice",
		harm: "two holders of a semaphore use the same slot",
		edits: []edit{
			{"actors/lease/fits.go", "\t\ttaken = append(taken, slotsOf(l.Grant)...)\n",
				"\t\tif i.leases.isLast(l.token()) {\n\t\t\tbreak\n\t\t}\n\t\ttaken = append(taken, " +
					"slotsOf(l.Grant)...)\n"},
			{"actors/lease/fits.go", "if overlap(slotsOf(l.Grant), slotsOf(g)) {",
				"if overlap(slotsOf(l.Grant), nil) {"},
		},
		found: live,
		says:  `gets slot \d+, which token \d+ has`,
	},
	{
		name: "DowngradeKeepsItsToken",
		harm: "a write that was delayed under the exclusive lease looks like one of a reader",
		edits: []edit{
			{"actors/lease/extend.go", "token := uint64(t.image.Token() + 1)", "token := h.Grant.GetToken()"},
			{"actors/ledger/ledger.go", "!i.Admits(g) || g.GetToken() <= last.Grant.GetToken()",
				"!i.Admits(g) || g.GetToken() < last.Grant.GetToken()"},
		},
		found: live,
		// or the owner refuses to go on
		says: `token \d+ is granted behind token|grant of ".*" token \d+ where token \d+ stands`,
	},
	{
		name:  "OthersNotStored",
		harm:  "the next owner of a shard gives permits away that are held",
		edits: []edit{{"actors/lease/stored.go", "\t\t\te.Others = append(e.Others, named(l.Grant, \"\"))\n", ""}},
		found: lostLeases,
		says:  `failed after \d+ tests: (replay|adopted):`,
	},
	{
		name: "RefusedAppendTakenForStored",
		harm: "an owner that was deposed goes on, and answers what is written nowhere",
		edits: []edit{{"jetstream/append.go", "\t\tcase conflict:\n\t\t\treturn true, err\n",
			"\t\tcase conflict:\n\t\t\treturn true, nil\n"}},
		found: trials,
		says:  `in epoch \d+ of node|which the journal does not have`,
	},
	{
		name: "RefusalsNotProved",
		harm: "an owner that was deposed without noticing answers from its memory",
		edits: []edit{{
			"actors/decision.go",
			"\t\treturn slices.ContainsFunc(d.outcome.Answers, func(a lease.Answer) bool { return !a.Stale })",
			"\t\treturn slices.ContainsFunc(d.outcome.Answers[:0], func(a lease.Answer) bool { return !a.Stale })",
		}},
		found: trials,
		says:  `is back behind token|no order of its operations`,
	},
	{
		name: "EpochNotRaised",
		harm: "a record of a deposed owner looks like one of its successor",
		edits: []edit{
			{"actors/ledger/ledger.go", "\tc.Epoch++\n", ""},
			{"actors/ledger/stage.go", "\tif err := s.tail.Follow(c); err != nil {",
				"\tif c.GetOpened() {\n\t\ts.tail.Epoch--\n\t}\n\tif err := s.tail.Follow(c); err != nil {"},
		},
		found: trials,
		says:  `opens it behind epoch|received 0 events of \d+`,
	},
	{
		name:  "EventsOwedForgotten",
		harm:  "what was committed just before a crash is never published",
		edits: []edit{{"actors/ledger/ledger.go", "\tif l.published < l.changed {", "\tif l.published > l.changed {"}},
		found: contract,
		says:  `does not come next of its shard`,
	},
	{
		name: "StreamListensToClients",
		harm: "a client puts events into the stream, and keeps real ones out of it",
		edits: []edit{{
			"jetstream/eventlog/stream.go", `[]string{o.cfg.Prefix.StoredEvent(">")}`,
			`[]string{o.cfg.Prefix.StoredEvent(">"), o.cfg.Prefix.Event(">")}`,
		}},
		found: forgery,
		says:  `the stream has \d+ messages, want 3`,
	},
	{
		name: "InterestOfAnotherSubject",
		harm: "a subscriber to the events of one resource gets none",
		edits: []edit{{"jetstream/embedded/interest.go", "account.SubscriptionInterest(subject)",
			"account.SubscriptionInterest(subject + \".event\")"}},
		found: interest,
		says:  `has no subscriber, but a client has subscribed to`,
	},
	{
		name: "BatchAnswerOfAnotherCall",
		harm: "a client takes the lease of one resource for that of another",
		edits: []edit{{"actors/node/batches.go", "&messages.Answer{Id: call, Reply: a.Reply}",
			"&messages.Answer{Id: call ^ 1, Reply: a.Reply}"}},
		found: batches,
		says:  `has no answer`,
	},
	{
		name:  "BatchedCallTwice",
		harm:  "a call is decided twice, and a release that came second ends the lease of the next request",
		edits: []edit{{"actors/node/intake.go", "\t\tes = append(es, e)\n", "\t\tes = append(es, e, e)\n"}},
		found: batches,
		says:  `is answered twice`,
	},
	{
		name:  "BatchedGrantsKept",
		harm:  "a client that is gone holds all the locks of its last batch until their leases end",
		edits: []edit{{"actors/node/outbox.go", "o.undeliverable.many(b.grants)", "o.undeliverable.many(nil)"}},
		found: unheard,
		says:  `is free again`,
	},
	{
		name:  "NotSynced",
		harm:  "a power cut forgets locks that were granted",
		edits: []edit{{"jetstream/embedded/config.go", "c.DataDir, !c.UnsafeSync", "c.DataDir, c.UnsafeSync"}},
		found: powerCuts,
		says:  `no such .* is in the journal`,
	},
	{
		name: "TailNotRead",
		harm: "who takes a shard over loses what its predecessor wrote meanwhile",
		edits: []edit{{
			"actors/opening.go", "\tlast, err := cfg.Journal.Replay(ctx, from, o.read)",
			"\tread := o.read\n\tif from > 0 {\n\t\tread = func(uint64, *journal.Record) error { return nil " +
				"}\n\t}\n\tlast, err := cfg.Journal.Replay(ctx, from, read)",
		}},
		found: trials,
		says:  `it follows commit \d+`,
	},
	{
		name: "ConflictWithoutLooking",
		harm: "a record that was stored is said not to be, because a repetition of it was refused",
		edits: []edit{{
			"jetstream/append.go", "\tif a.mayBeStored {\n\t\tswitch result",
			"\tif jsapi.HasCode(reason, jetstream.JSErrCodeStreamWrongLastSequence) {\n\t\treturn true, " +
				"journal.ErrConflict\n\t}\n\tif a.mayBeStored {\n\t\tswitch result",
		}},
		found: trials,
		says:  `no request has asked for this`,
	},
	{
		name: "PageForgetsTheFree",
		harm: "a restart begins the tokens of what was free again at 1",
		edits: []edit{{
			"actors/ledger/stored.go", "\tfor resource, e := range p.entries {\n\t\tstored.Entries = ",
			"\tfor resource, e := range p.entries {\n\t\tif !e.Held() {\n\t\t\tcontinue\n\t\t}\n\t\tstored.Entries = ",
		}},
		found: pages,
		says:  `failed after \d+ tests: (replay|adopted):`,
	},
	{
		name: "EndedRequestsNotConsulted",
		harm: "a late copy of a request holds the lock for a TTL with no client behind it",
		edits: []edit{{"actors/lease/acquire.go", "t.over(r); over != nil {",
			"t.over(r); over != nil && over.GetStatus() == messages.Status_HELD {"}},
		found: live,
		says:  `was granted before, and its lease had ended`,
	},
	{
		name: "EndedRequestsLostAtPassivation",
		harm: "a late copy of a request is granted once the resource has been idle for a few seconds",
		edits: []edit{{"actors/activations.go", "image: image, ended: s.ended,",
			"image: image, ended: lease.NewEndedRequests(),"}},
		found: late,
		says:  `got GRANTED token 4 .*, want RELEASED token 1`,
	},
	{
		name: "ReplayForgetsTheLastRequest",
		harm: "after a change of owner a late copy of the last request is granted",
		edits: []edit{{
			"actors/opening.go", "\tif err := o.ledger.Read(position, r, replayed); err != nil {",
			"\tfor _, c := range r.GetCommit().GetChanges() {\n\t\tif c.GetGrant() != nil {\n\t\t\tc.Grant.RequestId " +
				"= \"\"\n\t\t}\n\t}\n\tif err := o.ledger.Read(position, r, replayed); err != nil {",
		}},
		found: late,
		says:  `got GRANTED token \d+ .*, want RELEASED token`,
	},
	{
		name: "ReleaseOfARequestReleasesAnother",
		harm: "a client that withdraws a request loses the lease that it has by another one",
		edits: []edit{{"actors/lease/release.go", "\tif h, ok := t.image.granted(who, id); ok {\n\t\tt.finish(",
			"\tif h, ok := t.image.own(who, 0); ok {\n\t\tt.finish("}},
		found: requests,
		says:  `got .*RELEASED.*, want NOT_HELD`,
	},
	{
		name: "OpeningJudgedByItsDuration",
		harm: "a shard that takes longer to read than a node may take never opens",
		edits: []edit{{
			"actors/node/assignment/state.go", "s.opening != lease.Never && now.Sub(s.progressed) >= openTimeout",
			"hasLasted(s.opening, openTimeout, now)",
		}},
		found: nodes,
		says:  `shard \d+ is open at \[\]`,
	},
	{
		name: "AgeByTheWallClock",
		harm: "a new owner whose clock is ahead grants late copies of ended requests",
		edits: []edit{{
			"actors/ledger/forget.go", "\tif now.Sub(l.began.Instant) < d {\n\t\treturn math.MinInt64\n\t}\n",
			"\t_ = math.MinInt64\n",
		}},
		found: late,
		says:  `got GRANTED token \d+ .*, want RELEASED token`,
	},
	{
		name: "StalledOwnerGivesUpAlone",
		harm: "while JetStream has no majority, shards move from node to node",
		edits: []edit{{
			"actors/node/assignment/reconcile.go", "since(r.othersCommit && c.isStalled(r.now), c.outdone, r.now)",
			"since(c.isStalled(r.now), c.outdone, r.now)",
		}},
		found: stalled,
		says:  `became|is open at \[\]|shards move`,
	},
	{
		name: "WriteErrorIsFinal",
		harm: "a node whose disk was full stores no more until it is restarted",
		edits: []edit{{"jetstream/embedded/supervisor.go", "why != nil {\n\t\t\t\ts.recoverStore(",
			"why == ErrStore {\n\t\t\t\ts.recoverStore("}},
		found: disks,
		says:  `after disk-full-n1|the cluster is not healthy`,
	},
	{
		name: "HintIgnored",
		harm: "a broken lock's holder works on beside the next one until its next renewal",
		edits: []edit{{"clients/holdfast/hints.go", "\tif token == i.token {\n\t\ti.hint()\n",
			"\tif token == i.token {\n"}},
		found: holder,
		says:  `timed out waiting until the lock is lost`,
	},
	{
		name: "HintBelieved",
		harm: "a client that may publish on the subject of an event ends the locks of others",
		edits: []edit{{
			"clients/holdfast/handle.go",
			"\tcase h.phase != holding:\n\tcase h.extensions.isActive():\n\t\th.extensions.renew()\n",
			"\tcase h.phase != holding:\n\tcase h.extensions.isActive():\n\t\th.runOut()\n",
		}},
		found: holder,
		says:  `a forged event ended the lock|timed out waiting until the client asks`,
	},
	{
		name: "AnswersBelievedInOrder",
		harm: "a client counts on a longer lease while the service has granted a shorter one behind it",
		edits: []edit{{"clients/holdfast/internal/lease/estimate.go", "\t\tover, answered := a.precedes(by, order)\n",
			"\t\tover, answered := a.precedes(by, order)\n\t\tover = over || a.id == by.id\n"}},
		found: estimate,
		says:  `until 31s, want 4\.625s`,
	},
	{
		name: "FloorNotRaised",
		harm: "a name that was forgotten gets its old tokens again",
		edits: []edit{{"actors/ledger/forget.go", "floor = max(floor, p.drop(c.resource))",
			"floor = max(floor, p.drop(c.resource)*0)"}},
		found: names,
		says:  `token \d+ of .* comes behind`,
	},
	{
		name:  "RememberedWithoutBound",
		harm:  "every name takes memory for a month",
		edits: []edit{{"actors/ledger/forget.go", "return (r.Limit + 1<<p.depth - 1) >> p.depth", "return 1 << 40"}},
		found: names,
		says:  `names are remembered, \d+ may be`,
	},
	{
		name:  "ShrunkWithoutToken",
		harm:  "a name that has been free for a minute begins with token 1 again",
		edits: []edit{{"actors/ledger/tombstone.go", "token: i.Token(), former:", "token: i.Token() * 0, former:"}},
		found: pages,
		says:  `gets token \d+ again, behind`,
	},
	{
		name: "GrantDuringADelay",
		harm: "the next holder begins while the lost one may still write",
		edits: []edit{{"actors/lease/fits.go", "return !i.HeldBack() && i.fitsBeside(limit, permits)",
			"return i.fitsBeside(limit, permits)"}},
		found: live,
		says:  `holds the resource back|holding the resource back|still holds`,
	},
	{
		name: "ConfirmationOfAnotherToken",
		harm: "an agent that has stopped one holder lets the next one in beside another that it has not stopped",
		edits: []edit{{"actors/lease/confirm.go", "lost, ok := t.image.FindLost(token)",
			"lost, ok := t.image.firstLost()"}},
		found: heldBack,
		says:  `STALE_TOKEN`,
	},
	{
		name: "DelayNotReplayed",
		harm: "a new owner of the shard grants at once what is held back",
		edits: []edit{{
			"actors/opening.go", "\tif err := o.ledger.Read(position, r, replayed); err != nil {",
			"\tfor _, c := range r.GetCommit().GetChanges() {\n\t\tif c.GetGrant() != nil {\n\t\t\tc.Grant.DelayMs = " +
				"0\n\t\t}\n\t}\n\tif err := o.ledger.Read(position, r, replayed); err != nil {",
		}},
		found: successor,
		says:  `cannot be read: CONFIRMED of|want HELD_BACK`,
	},
	{
		name: "LostLeasesNotInPages",
		harm: "what is held back is forgotten when the journal is compacted",
		edits: []edit{{"actors/lease/stored.go",
			"\t\t\te.Lost = append(e.Lost, &journal.Loss{Grant: named(l.Grant, \"\"), How: l.How})\n", ""}},
		found: lostLeases,
		says:  `lost (EXPIRED|BROKEN)`,
	},
	{
		name: "SecretNotChecked",
		harm: "who knows the name of an owner releases and changes its lease",
		edits: []edit{{"actors/lease/caller.go", "return g.GetOwner() == c.owner && c.opens(g.GetSecretHash())",
			"return g.GetOwner() == c.owner"}},
		found: secrets,
		says:  `want NOT_OWNER`,
	},
	{
		name:  "SecretOfAReleaseNotChecked",
		harm:  "who knows the name of an owner and of its request releases its lease",
		edits: []edit{{"actors/lease/lookup.go", "return h, ok && who.owns(h.Grant)", "return h, ok"}},
		found: secrets,
		says:  `RELEASED.*want NOT_HELD`,
	},
	{
		name: "SecretOfARepetitionNotChecked",
		harm: "who repeats a request of another client gets its lease",
		edits: []edit{{"actors/lease/acquire.go", "if isRepeated && !who.owns(granted.Grant) {",
			"if isRepeated && granted.Grant == nil {"}},
		found: secrets,
		says:  `GRANTED.*want NOT_OWNER`,
	},
	{
		name: "SecretOfAWaitingRequestNotChecked",
		harm: "who repeats a waiting request of another client takes its place",
		edits: []edit{{
			"actors/lease/queue.go", "return place >= 0 && !who.opens(q.waiters[place].request.GetSecretHash())",
			"return place > len(q.waiters)",
		}},
		found: waitingSecrets,
		says:  `nats: timeout`,
	},
	{
		name: "WithdrawalWithoutItsSecret",
		harm: "who knows the name of a waiting request takes it out of the queue",
		edits: []edit{{"actors/lease/queue.go", "if i < 0 || !who.opens(q.waiters[i].request.GetSecretHash()) {",
			"if i < 0 {"}},
		found: waitingSecrets,
		says:  `CANCELLED.*want NOT_HELD`,
	},
	{
		name:  "SecretHashForgotten",
		harm:  "a lease loses its secret when it is extended",
		edits: []edit{{"actors/lease/with.go", "\tchange(c)\n", "\tc.SecretHash = nil\n\tchange(c)\n"}},
		found: secrets,
		says:  `want NOT_OWNER`,
	},
	{
		name: "SetIsLost",
		harm: "the value that a leader has published, by the answer, is nowhere",
		edits: []edit{{
			"actors/lease/set.go",
			"\t\tt.apply(t.now.Instant, h.Grant, &journal.Change{Kind: messages.Event_UPDATED, Grant: " +
				"g})\n\t\th.Grant = g\n",
			"\t\th.Grant = g\n",
		}},
		found: live,
		says:  `no such change of its value is in the journal`,
	},
	{
		name:  "SetServesNobody",
		harm:  "whoever waits for the room that a set has made waits until something else happens to the lock",
		edits: []edit{{"actors/lease/set.go", "\tt.serve() // the leases may be smaller\n", ""}},
		found: suite{folder: "actors/lease", run: "^TestRoomIsGivenToWaiters$"},
		says:  `after a set nothing is granted`,
	},
	{
		name: "SetRestartsTheLease",
		harm: "a holder keeps its lease by new metadata, though no client or successor counts on that",
		edits: []edit{{"actors/lease/lease.go", "case c.GetKind() == messages.Event_UPDATED:",
			"case c.GetKind() == messages.Event_BROKEN:"}},
		found: steps,
		says:  `wakes at`,
	},
	{
		name: "NoSubreaper",
		harm: "a daemon of a command under a lock goes on when another client holds the lock",
		edits: []edit{{"cmd/holdfast/lock/child_linux.go",
			"\t_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)\n", ""}},
		found: descendants,
		says:  `what the command has started is left`,
	},
	{
		name: "KillsTheGroupOnly",
		harm: "what a command under a lock starts in another session goes on when another client holds the lock",
		edits: []edit{{"cmd/holdfast/lock/child.go", "\tc.signal(syscall.SIGKILL)\n\tc.descendants.kill()\n",
			"\tc.signal(syscall.SIGKILL)\n"}},
		found: descendants,
		says:  `what the command has started is left`,
	},
	{
		name: "OwnerBeginsLikeTheIdentity",
		harm: "the user alice acts for the user alice2",
		edits: []edit{{
			"actors/node/identity/owner.go", `strings.HasPrefix(owner, id+"/")`, `strings.HasPrefix(owner, id)`,
		}},
		found: owners,
		says:  `want INVALID`,
	},
	{
		name: "ClaimedUser",
		harm: "a client with a JWT is the user that it claims to be beside it",
		edits: []edit{{
			"actors/node/identity/verifier.go", "return v.users.subject(info.JWT, info.IssuerKey)",
			"return info.User, nil",
		}},
		found: owners,
		says:  `with the identity "U`,
	},
	{
		name:  "HeaderBehindTheEnd",
		harm:  "a client hides the header of NATS behind an empty line, and is whoever its own header says",
		edits: []edit{{"actors/node/identity/verifier.go", "case sent > length:", "case sent > 2*length:"}},
		found: owners,
		says:  `want a lease of .* or INVALID`,
	},
	{
		name:  "HeaderInAValue",
		harm:  "a client hides the header of NATS in a value, and is whoever its own header says",
		edits: []edit{{"actors/node/identity/verifier.go", " || strings.Contains(value, header) {", " {"}},
		found: owners,
		says:  `want a lease of .* or INVALID`,
	},
	{
		name: "GuessedSurvey",
		harm: "a client that has seen where a node asks about a session answers its next question",
		edits: []edit{{"actors/node/inbox.go", "hmac.Equal([]byte(subject), []byte(i.name(end)))",
			"hmac.Equal(nil, nil)"}},
		found: suite{folder: "actors/node", run: "^TestForgedSurveyAnswers$"},
		says:  `forged answers count`,
	},
	{
		name: "DirectRequest",
		harm: "a request that did not come through a service import names any owner",
		edits: []edit{{
			"actors/node/transport.go", `if e.ReplyTo.Origin.Identity == "" {`, `if e.Key == "" {`,
		}, {
			"actors/node/intake.go",
			"identity.Needed(a.Operation) {\n\t\t\tto.Origin.Identity, err = i.verifier.Of(m)",
			"identity.Needed(a.Operation) {\n\t\t\tto.Origin.Identity, _ = i.verifier.Of(m)",
		}},
		found: owners,
		says:  `through a service import`,
	},
	{
		name: "PasswordsOnly",
		harm: "a client with a password claims to be another user by an nkey that NATS does not verify",
		edits: []edit{{"jetstream/embedded/config.go", "if c.VerifiedUsers && len(opts.Nkeys) == 0",
			"if c.VerifiedUsers && len(opts.Nkeys) < 0"}},
		found: owners,
		says:  `want an error that names nkeys`,
	},
	{
		name:  "TenantLostOnTheWay",
		harm:  "a request of a tenant is one of no tenant if the owner of its shard is not the node that took it in",
		edits: []edit{{"actors/node/routing/envelope.go", "Tenant: m.Header.Get(headerTenant),", `Tenant: "",`}},
		found: tenantsOfNodes,
		says:  `holdfast\.tenant\.[AB]\.(acquire|get)\.k\d+`,
	},
	{
		name:  "TenantsShareLimits",
		harm:  "what one tenant holds counts for another",
		edits: []edit{{"actors/node/tenants.go", "share: s.quota.Tenant(name),", "share: &s.quota.Share,"}},
		found: tenants,
		says:  `acquire of h3 .*OVERLOADED.*want GRANTED`,
	},
	{
		name: "TenantsShareSessions",
		harm: "the end of a session of one tenant ends the leases of another, whose session has the same id",
		edits: []edit{
			{"actors/node/routing/envelope.go", "*session = messages.Qualify(tenant, *session)",
				`*session = messages.Qualify("", *session)`},
			{"actors/node/intake.go", "a.Key, messages.Qualify(e.ReplyTo.Origin.Tenant, id)", "a.Key, id"},
		},
		found: tenants,
		says:  `keep of 0123456789abcdef .*NOT_HELD, want EXTENDED`,
	},
	{
		name:  "TenantsShareTheBoundOfSessions",
		harm:  "a tenant that has all its sessions keeps the others from opening one",
		edits: []edit{{"actors/lease/group.go", "\tg := s.groups[tenant]\n", "\ttenant = \"\"\n\tg := s.groups[tenant]\n"}},
		found: sessionsOfTenants,
		says:  `another tenant: OVERLOADED`,
	},
	{
		name:  "SessionsOfATenantUnbounded",
		harm:  "a tenant has all sessions that a shard may have, and the others none",
		edits: []edit{{"actors/lease/group.go", ` && (tenant == "" || g.count < s.Max/tenantShares)`, ""}},
		found: sessionsOfTenants,
		says:  `one more of the tenant: GRANTED`,
	},
	{
		name:  "PlainEventsOfTenants",
		harm:  "the events of a tenant reach the subscribers of no tenant",
		edits: []edit{{"messages/event.go", "p = p.Tenant(tenant)", "_ = p.Tenant(tenant)"}},
		found: tenants,
		says:  `got .* on holdfast\.event\.name`,
	},
	{
		name:  "ListingOfAllTenants",
		harm:  "a tenant lists the resources of others",
		edits: []edit{{"actors/node/list.go", "return t.name, nil", "return messages.AllTenants, nil"}},
		found: tenants,
		says:  `lists \[`,
	},
	{
		name: "ErrorNamesTheTenant",
		harm: "an error shows a client in which account it is",
		edits: []edit{{"actors/lease/state.go", "_, name := messages.Unqualify(s.resource)\n\treturn name",
			"return s.resource"}},
		found: tenants,
		says:  `got a message on .* with`,
	},
	{
		name:  "ImportedRequestLostOnTheWay",
		harm:  "a request through an import has no answer if the owner of its shard is not the node that took it in",
		edits: []edit{{"actors/node/routing/envelope.go", "if isReserved(m.Reply) {", `if isReserved("") {`}},
		found: envelopes,
		says:  `became`,
	},
	{
		name:  "SenderLostOnTheWay",
		harm:  "a request is refused if the owner of its shard is not the node that took it in",
		edits: []edit{{"actors/node/routing/envelope.go", "Identity: m.Header.Get(headerIdentity),", `Identity: "",`}},
		found: senders,
		says:  `want a lease of alice`,
	},
	{
		name:  "IdentityLostByAnExtension",
		harm:  "a lease that was extended does not show who acquired it",
		edits: []edit{{"actors/lease/with.go", "\tchange(c)\n", "\tc.Identity = \"\"\n\tchange(c)\n"}},
		found: copies,
		says:  `want`,
	},
	{
		name: "TextOfAClientTakenForAFault",
		harm: "a client that sends a few words makes NATS restart, also without a login",
		edits: []edit{
			{"jetstream/embedded/logger.go", "if ofClient.MatchString(line) {", "if false {"},
			{"jetstream/embedded/logger.go", "if storeFault.MatchString(line) {",
				"if strings.Contains(line, \"ritical write error\") {"},
		},
		found: hostile,
		says:  `the log says: .*this node cannot store on its disk`,
	},
	{
		name:  "AnswerIntoTheJournal",
		harm:  "a client has the node write its answer over a record of a bucket",
		edits: []edit{{"messages/subject.go", "case subject[0] == '$':", "case subject[0] == '!':"}},
		found: hostile,
		says:  `cannot be read|a commit is missing`,
	},
	{
		name:  "PartWithoutLeasesTaken",
		harm:  "a node that answers that there are more leases, and sends none, ends the process of another",
		edits: []edit{{"actors/node/list.go", "if len(reply.Leases) == 0 {", "if false {"}},
		found: parts,
		says:  `index out of range`,
	},
	{
		name:  "CertificatesNotRequired",
		harm:  "a client without a certificate is let in despite --tls-verify",
		edits: []edit{{"jetstream/embedded/tls.go", "CaFile: f.CA, Verify: f.Verify}", "CaFile: f.CA}"}},
		found: certificates,
		says:  `exit code 0, wanted 5`,
	},
	{
		name:  "ClientBecomesAMember",
		harm:  "a client with a certificate starts a member of the cluster, which can read and write everything",
		edits: []edit{{"jetstream/embedded/tls.go", "opts.CustomRouterAuthentication = known", "_ = known"}},
		found: strangers,
		says:  `did not write "authentication error"`,
	},
	{
		name: "OpenByNoAuthUser",
		harm: "clients of other hosts get in without a login, although --allow-remote is not given",
		edits: []edit{{"jetstream/embedded/auth.go", `case opts.NoAuthUser != "":`,
			`case opts.NoAuthUser == "nobody":`}},
		found: loginFiles,
		says:  `"0\.0\.0\.0:0".*deadline exceeded`,
	},
	{
		name: "ClientBreaks",
		harm: "a printed client may take locks away from their holders",
		edits: []edit{{"cmd/holdfast/access/users.go", "operations(useLocks, useLooks)",
			"operations(useLocks, useLooks, useBreaks)"}},
		found: rights,
		says:  `holdfast\.break\.orders\.1: refused: false`,
	},
	{
		name: "InboxesOfOthers",
		harm: "a printed user may read the answers to others",
		edits: []edit{{"cmd/holdfast/access/users.go", `Subscribe: []string{inbox + ".>"}`,
			`Subscribe: []string{defaultInbox + ".>"}`}},
		found: rights,
		says:  `_INBOX\.another\.>: refused: false`,
	},
	{
		name: "ProbeAnywhere",
		harm: "a client has a node publish where only nodes may, by the subject of its session",
		edits: []edit{{"actors/node/transport.go", "err := t.cfg.Prefix.CheckReply(alive)",
			"err := t.cfg.Prefix.CheckReply(to.Subject)"}},
		found: deputies,
		says:  `alive \$KV`,
	},
	{
		name:  "AnswerAnywhere",
		harm:  "a client has a node send an answer as an event, or as a message of a node",
		edits: []edit{{"messages/subject.go", "case p.covers(subject):", "case string(p) == subject:"}},
		found: deputies,
		says:  `a node published on holdfast\.|alive holdfast\.`,
	},
	{
		name: "EverythingExported",
		harm: "users of other accounts speak as nodes and forge events",
		edits: []edit{{"cmd/holdfast/access/share.go", "all := []share{newShare(service, d.Prefix.Info())}",
			`all := []share{newShare(service, string(d.Prefix)+".>")}`}},
		found: apart,
		says:  `there was a message on holdfast\.`,
	},
	{
		name:  "BlockCountsTwice",
		harm:  "a lock whose actor panicked issues the tokens of its ephemeral leases again",
		edits: []edit{{"actors/ledger/suspended.go", "\tdelete(p.suspended, resource)\n", ""}},
		found: suite{folder: "actors", run: "^TestTokensOfIdleLocks$"},
		says:  `behind token`,
	},
}
