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
	// formerSubjects are those of shards that the deployment had before.
	formerSubjects = suite{folder: "integration/reshard", run: "^TestFormerSubjects$"}
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
			{"actors/lease/grant.go", "Token:        max(uint64(t.image.Token())+uint64(min(t.image.Holders(), 1)), 1),"},
			{"actors/ledger/ledger.go", `case c.GetKind() == messages.Event_ACQUIRED &&
		(!i.Admits(g) || g.GetToken() < last.Grant.GetToken()):`},
		},
		found: live,
		says:  `token \d+ is granted behind token`,
	},
	{
		name:  "TokenLeftOut",
		harm:  "tokens have gaps, so they do not show that a grant is missing",
		edits: []edit{{"actors/lease/grant.go", "Token:        uint64(t.image.Token() + 2),"}},
		found: live,
		says:  `token \d+ is granted behind token`,
	},
	{
		name: "AnswerBeforeAppend",
		harm: "a crash forgets a lock that is held",
		edits: []edit{{"actors/term.go",
			`t.shard.cfg.Outbox.Answer(t.shard.cfg.Shard, d.outcome.Answers)
		d.outcome.Answers = nil
		t.batcher.add(d)`}},
		found: trials,
		says:  `no such .* is in the journal|the grant is another request|believes that it holds the lock`,
	},
	{
		name:  "ExpiryEarly",
		harm:  "a lease ends before the time that its holder counts on",
		edits: []edit{{"actors/lease/lease.go", "return now.Add(ttl(g.GetTtlMs()) * 3 / 4)"}},
		found: live,
		says:  `before its time`,
	},
	{
		name: "KeepOfADeposedOwner",
		harm: "a holder counts on leases that the owner of the shard could not keep alive any more",
		edits: []edit{{"actors/sessionterm.go",
			`t.answer(d.outcome.Answers)
	d.outcome.Answers = nil`}},
		found: keeps,
		says:  `got EXTENDED`,
	},
	{
		name:  "SessionLeavesALease",
		harm:  "a session ends, and one of its leases is held all the same",
		edits: []edit{{"actors/lease/session.go", "return all[min(1, len(all)):]"}},
		found: ends,
		says:  `NOT_HELD`,
	},
	{
		name:  "KeepWithoutEffect",
		harm:  "a holder receives the answer that its session goes on, and it does not",
		edits: []edit{{"actors/lease/sessions.go", "x.lastRequest = now"}},
		found: sessions,
		says:  `want`,
	},
	{
		name:  "RaisedTTLIsNotRecorded",
		harm:  "a new owner of the shard ends the leases of a session before the time that was promised",
		edits: []edit{{"actors/lease/sessions.go", ""}},
		found: sessions,
		says:  `is promised|want`,
	},
	{
		name:  "PatienceFromTheFirstProbe",
		harm:  "a client that has just been answered loses its locks, and takes them for held",
		edits: []edit{{"actors/links.go", "return l.shard.cfg.Clock.Now().Sub(k.since) >= k.disconnectAfter"}},
		found: disconnected,
		says:  `want HELD`,
	},
	{
		name:  "KeepsAfterALoss",
		harm:  "the Go client takes a lock for held that was broken",
		edits: []edit{{"clients/holdfast/session.go", "case x.since.IsZero():"}},
		found: clientSessions,
		says:  `is valid|is prolonged`,
	},
	{
		name:  "ForeignReleaseInASession",
		harm:  "the Go client takes a lock for held that another process of its owner has released",
		edits: []edit{{"clients/holdfast/session.go", "return true"}},
		found: clientSessions,
		says:  `is valid and not held`,
	},
	{
		name: "NothingProvesTheLeases",
		harm: "while locks come and go, the Go client takes one for held that another process of its owner has " +
			"released",
		edits: []edit{{"clients/holdfast/session.go", "return true"}},
		found: clientSessions,
		says:  `is valid and not held`,
	},
	{
		name:  "AnswerToAnotherQuestion",
		harm:  "who can send to the inbox of a Go client gives it locks that nobody has granted",
		edits: []edit{{"clients/request/attempts.go", `return err == nil && key != ""`}},
		found: forgedAnswers,
		says:  `A grant of another resource than that of the request is no answer`,
	},
	{
		name: "OrderForEachAttempt",
		harm: "each renewal is another request, which the journal records and no cached payload serves",
		edits: []edit{{"clients/holdfast/extensions.go",
			`e.Change()
	id := e.sender.Send(e.sender.Route(messages.OpExtend, e.key, e.Attempts()), m, e.answered)`}},
		found: clientSessions,
		says:  `requests of the orders`,
	},
	{
		name:  "AnswerFromBeforeALoss",
		harm:  "the Go client prolongs a lock because of an answer from before its loss",
		edits: []edit{{"clients/holdfast/session.go", "if x.since.IsZero() {"}},
		found: clientSessions,
		says:  `a lock that was broken is prolonged`,
	},
	{
		name: "LateExtensionTakesOut",
		harm: "the Go client takes a lock for held that a late extension has taken out of its session",
		edits: []edit{{
			"clients/holdfast/extensions.go",
			"return e.session != nil && e.downgrading == 0 && l.GetSession() == e.session.label",
		}},
		found: clientSessions,
		says:  `is valid and not held`,
	},
	{
		name:  "SessionIsNotForsaken",
		harm:  "a lease that could not be given back is held for as long as its client holds others",
		edits: []edit{{"clients/holdfast/session.go", "case x.users == 0:"}},
		found: clientSessions,
		says:  `the lease is held for ever`,
	},
	{
		name:  "DisconnectIsForgotten",
		harm:  "a client that is cut off takes its locks for held when its session has ended early",
		edits: []edit{{"clients/holdfast/sessions.go", "return math.MaxInt64"}},
		found: anySteps,
		says:  `is valid and not held`,
	},
	{
		name:  "LeaseOutlivesItsSession",
		harm:  "a client receives the answer that its session has ended, and the leases are held all the same",
		edits: []edit{{"actors/lease/member.go", "case messages.Event_EXTENDED, messages.Event_RELEASED:"}},
		found: live,
		says: `the session has ended, and in the journal its lease has not|no request has asked for this|` +
			`it was carried out 2 times`,
	},
	{
		name: "LeaseMovesIntoAnotherSession",
		harm: "a lease ends with a session that was opened behind its holder's back",
		edits: []edit{{"actors/lease/acquire.go",
			`if otherSession(own, e.Request) != nil {
		r := &messages.ExtendRequest{Session: e.Request.GetSession(), TtlMs: e.Request.GetTtlMs()}
		own = t.extend(t.now.Instant, own, successor(t, own, r))
	} else if err := otherSession(own, e.Request); err != nil {`}},
		found: sessions,
		says:  `want INVALID`,
	},
	{
		name:  "LeasesEndWithTheirOwner",
		harm:  "a new owner of the shard ends every lease, though the holders go on",
		edits: []edit{{"actors/ledger/ledger.go", "e.Restart(now.Add(-1<<42), l.inherited.GetLeftMs())"}},
		found: live,
		says:  `before its time`,
	},
	{
		name:  "ExtendWithoutEffect",
		harm:  "a holder receives the answer that its lease goes on, and it does not",
		edits: []edit{{"actors/lease/extend.go", ""}},
		found: live,
		says:  `no such extension is in the journal`,
	},
	{
		name: "LateExtendCounts",
		harm: "an extend that was overtaken ends a lease that is longer by the answer to its holder",
		edits: []edit{{
			"actors/lease/extend.go",
			"func isLate(order, highest uint64) bool { return order > highest && highest == messages.MaxOrder }",
		}},
		found: live,
		says:  `no request has asked for this|the lease has extends up to|no order of its operations`,
	},
	{
		name:  "DowngradeForgetsTheOrder",
		harm:  "an extend that is late by a downgrade ends the lease early",
		edits: []edit{{"actors/lease/extend.go", "g.ExtendOrder = r.GetOrder()"}},
		found: steps,
		says:  `it_keeps_the_numbers`,
	},
	{
		name:  "AnybodyReleases",
		harm:  "who does not hold a lock can release it",
		edits: []edit{{"actors/lease/lookup.go", `case who.owner == "":`}},
		found: live,
		says:  `held twice`,
	},
	{
		name:  "StaleTokenReleases",
		harm:  "a late release of an earlier lease ends the present one",
		edits: []edit{{"actors/lease/lookup.go", "case token <= g.GetToken():"}},
		found: live,
		says:  `no such end of a lease is in the journal|no request has asked for this: commit \d+: RELEASED`,
	},
	{
		name:  "EveryRequestIsARepetition",
		harm:  "a second request of the owner is granted its lease, though another one holds it",
		edits: []edit{{"actors/lease/lookup.go", "if h.Grant.GetOwner() == owner {"}},
		found: live,
		says:  `the grant is another request's`,
	},
	{
		name: "GrantWhileHeld",
		harm: "two hold the lock",
		edits: []edit{
			{"actors/lease/acquire.go", "case t.Waiting() == 0 && (fits(&t.image, r) || t.image.Token()%8 == 0):"},
			{"actors/ledger/ledger.go",
				"case c.GetKind() == messages.Event_ACQUIRED && g.GetToken() <= last.Grant.GetToken():"},
		},
		found: live,
		says:  `is granted to .* while token \d+ .* is held`,
	},
	{
		name: "WriterBesideReaders",
		harm: "a writer changes what readers read",
		edits: []edit{
			{"actors/lease/fits.go", "return all <= i.leases.minLimit()"},
			{"actors/lease/fits.go", "if overlap(slotsOf(l.Grant), nil) {"},
		},
		found: live,
		says:  `is granted to .* while token \d+ .* is held`,
	},
	{
		name:  "ReaderOvertakes",
		harm:  "readers that come one after the other keep a writer waiting for ever",
		edits: []edit{{"actors/lease/acquire.go", "case fits(&t.image, r):"}},
		found: live,
		says:  `requests were overtaken by`,
	},
	{
		name:  "PermitNotGivenBack",
		harm:  "a semaphore lets fewer in than it may",
		edits: []edit{{"actors/lease/image.go", "if last := &i.leases.last; last.Grant != nil {"}},
		found: live,
		says:  `no order of its operations`,
	},
	{
		name: "PhaseDoesNotMoveOn",
		harm: "a writer's fence keeps out the readers behind it",
		edits: []edit{{"actors/lease/image.go",
			`if phase := i.leases.last.Grant.GetPhase(); !i.Held() && phase > 0 {
		return phase
	}
	if !i.Held() {`}},
		found: live,
		says:  `though nothing is held beside it`,
	},
	{
		name: "SlotTwice",
		harm: "two holders of a semaphore use the same slot",
		edits: []edit{
			{"actors/lease/fits.go", "if overlap(slotsOf(l.Grant), nil) {"},
			{"actors/lease/fits.go", `if i.leases.isLast(l.token()) {
			break
		}
		taken = append(taken, slotsOf(l.Grant)...)`},
		},
		found: live,
		says:  `gets slot \d+, which token \d+ has`,
	},
	{
		name: "DowngradeKeepsItsToken",
		harm: "a write that was delayed under the exclusive lease looks like one of a reader",
		edits: []edit{
			{"actors/lease/extend.go", "token := h.Grant.GetToken()"},
			{"actors/ledger/ledger.go", `case c.GetKind() == messages.Event_ACQUIRED &&
		(!i.Admits(g) || g.GetToken() < last.Grant.GetToken()):`},
		},
		found: live,
		// or the owner refuses to go on
		says: `token \d+ is granted behind token|grant of ".*" token \d+ where token \d+ stands`,
	},
	{
		name:  "OthersNotStored",
		harm:  "the next owner of a shard gives permits away that are held",
		edits: []edit{{"actors/lease/stored.go", ""}},
		found: lostLeases,
		says:  `failed after \d+ tests: (replay|adopted):`,
	},
	{
		name:  "RefusedAppendTakenForStored",
		harm:  "an owner that was deposed goes on, and answers what is written nowhere",
		edits: []edit{{"jetstream/append.go", "return true, nil"}},
		found: trials,
		says:  `in epoch \d+ of node|which the journal does not have`,
	},
	{
		name: "RefusalsNotProved",
		harm: "an owner that was deposed without noticing answers from its memory",
		edits: []edit{{
			"actors/decision.go",
			"return slices.ContainsFunc(d.outcome.Answers[:0], func(a lease.Answer) bool { return !a.Stale })",
		}},
		found: trials,
		says:  `is back behind token|no order of its operations`,
	},
	{
		name: "EpochNotRaised",
		harm: "a record of a deposed owner looks like one of its successor",
		edits: []edit{
			{"actors/ledger/ledger.go", ""},
			{"actors/ledger/stage.go", `if c.GetOpened() {
		s.tail.Epoch--
	}
	if err := s.tail.Follow(c); err != nil {`},
		},
		found: trials,
		says:  `opens it behind epoch|received 0 events of \d+`,
	},
	{
		name:  "EventsOwedForgotten",
		harm:  "what was committed just before a crash is never published",
		edits: []edit{{"actors/ledger/ledger.go", "if l.published > l.changed {"}},
		found: contract,
		says:  `does not come next of its shard`,
	},
	{
		name: "StreamListensToClients",
		harm: "a client puts events into the stream, and keeps real ones out of it",
		edits: []edit{{
			"jetstream/eventlog/stream.go",
			`Subjects:    []string{o.cfg.Prefix.StoredEvent(">"), o.cfg.Prefix.Event(">")},`,
		}},
		found: forgery,
		says:  `the stream has \d+ messages, want 3`,
	},
	{
		name: "InterestOfAnotherSubject",
		harm: "a subscriber to the events of one resource gets none",
		edits: []edit{{
			"jetstream/embedded/interest.go",
			`return err != nil || account.SubscriptionInterest(subject + ".event")`,
		}},
		found: interest,
		says:  `has no subscriber, but a client has subscribed to`,
	},
	{
		name: "BatchAnswerOfAnotherCall",
		harm: "a client takes the lease of one resource for that of another",
		edits: []edit{{
			"actors/node/batches.go",
			"r.reply.Answers = append(r.reply.Answers, &messages.Answer{Id: call ^ 1, Reply: a.Reply})",
		}},
		found: batches,
		says:  `has no answer`,
	},
	{
		name:  "BatchedCallTwice",
		harm:  "a call is decided twice, and a release that came second ends the lease of the next request",
		edits: []edit{{"actors/node/intake.go", "es = append(es, e, e)"}},
		found: batches,
		says:  `is answered twice`,
	},
	{
		name:  "BatchedGrantsKept",
		harm:  "a client that is gone holds all the locks of its last batch until their leases end",
		edits: []edit{{"actors/node/outbox.go", "o.publish(b.to, o.undeliverable.many(nil), &b.reply, nil)"}},
		found: unheard,
		says:  `is free again`,
	},
	{
		name: "NotSynced",
		harm: "a power cut forgets locks that were granted",
		edits: []edit{{
			"jetstream/embedded/config.go",
			"opts.JetStream, opts.StoreDir, opts.SyncAlways = true, c.DataDir, c.UnsafeSync",
		}},
		found: powerCuts,
		says:  `no such .* is in the journal`,
	},
	{
		name: "TailNotRead",
		harm: "who takes a shard over loses what its predecessor wrote meanwhile",
		edits: []edit{{"actors/opening.go",
			`read := o.read
	if from > 0 {
		read = func(uint64, *journal.Record) error { return nil }
	}
	last, err := cfg.Journal.Replay(ctx, from, read)`}},
		found: trials,
		says:  `it follows commit \d+`,
	},
	{
		name: "ConflictWithoutLooking",
		harm: "a record that was stored is said not to be, because a repetition of it was refused",
		edits: []edit{{"jetstream/append.go",
			`if jsapi.HasCode(reason, jetstream.JSErrCodeStreamWrongLastSequence) {
		return true, journal.ErrConflict
	}
	if a.mayBeStored {`}},
		found: trials,
		says:  `no request has asked for this`,
	},
	{
		name: "PageForgetsTheFree",
		harm: "a restart begins the tokens of what was free again at 1",
		edits: []edit{{"actors/ledger/stored.go",
			`if !e.Held() {
			continue
		}
		stored.Entries = append(stored.Entries, e.store(resource))`}},
		found: pages,
		says:  `failed after \d+ tests: (replay|adopted):`,
	},
	{
		name: "EndedRequestsNotConsulted",
		harm: "a late copy of a request holds the lock for a TTL with no client behind it",
		edits: []edit{{
			"actors/lease/acquire.go",
			"if over := t.over(r); over != nil && over.GetStatus() == messages.Status_HELD {",
		}},
		found: live,
		says:  `was granted before, and its lease had ended`,
	},
	{
		name: "EndedRequestsLostAtPassivation",
		harm: "a late copy of a request is granted once the resource has been idle for a few seconds",
		edits: []edit{{
			"actors/activations.go",
			`a.inbox.PostUserMessage(&load{
		resource: a.resource, image: image, ended: lease.NewEndedRequests(), sessions: s.sessions,
	})`,
		}},
		found: late,
		says:  `got GRANTED token 4 .*, want RELEASED token 1`,
	},
	{
		name: "ReplayForgetsTheLastRequest",
		harm: "after a change of owner a late copy of the last request is granted",
		edits: []edit{{"actors/opening.go",
			`for _, c := range r.GetCommit().GetChanges() {
		if c.GetGrant() != nil {
			c.Grant.RequestId = ""
		}
	}
	if err := o.ledger.Read(position, r, replayed); err != nil {`}},
		found: late,
		says:  `got GRANTED token \d+ .*, want RELEASED token`,
	},
	{
		name:  "ReleaseOfARequestReleasesAnother",
		harm:  "a client that withdraws a request loses the lease that it has by another one",
		edits: []edit{{"actors/lease/release.go", "if h, ok := t.image.own(who, 0); ok {"}},
		found: requests,
		says:  `got .*RELEASED.*, want NOT_HELD`,
	},
	{
		name:  "OpeningJudgedByItsDuration",
		harm:  "a shard that takes longer to read than a node may take never opens",
		edits: []edit{{"actors/node/assignment/state.go", "return hasLasted(s.opening, openTimeout, now)"}},
		found: nodes,
		says:  `shard \d+ is open at \[\]`,
	},
	{
		name:  "AgeByTheWallClock",
		harm:  "a new owner whose clock is ahead grants late copies of ended requests",
		edits: []edit{{"actors/ledger/forget.go", "if d < 0 {"}},
		found: late,
		says:  `got GRANTED token \d+ .*, want RELEASED token`,
	},
	{
		name: "StalledOwnerGivesUpAlone",
		harm: "while JetStream has no majority, shards move from node to node",
		edits: []edit{{
			"actors/node/assignment/reconcile.go",
			"c.outdone = since(c.isStalled(r.now), c.outdone, r.now)",
		}},
		found: stalled,
		says:  `became|is open at \[\]|shards move`,
	},
	{
		name:  "WriteErrorIsFinal",
		harm:  "a node whose disk was full stores no more until it is restarted",
		edits: []edit{{"jetstream/embedded/supervisor.go", "if why := s.runner.present().failure(); why == ErrStore {"}},
		found: disks,
		says:  `after disk-full-n1|the cluster is not healthy`,
	},
	{
		name:  "HintIgnored",
		harm:  "a broken lock's holder works on beside the next one until its next renewal",
		edits: []edit{{"clients/holdfast/hints.go", ""}},
		found: holder,
		says:  `timed out waiting until the lock is lost`,
	},
	{
		name:  "HintBelieved",
		harm:  "a client that may publish on the subject of an event ends the locks of others",
		edits: []edit{{"clients/holdfast/handle.go", "h.runOut()"}},
		found: holder,
		says:  `a forged event ended the lock|timed out waiting until the client asks`,
	},
	{
		name: "AnswersBelievedInOrder",
		harm: "a client counts on a longer lease while the service has granted a shorter one behind it",
		edits: []edit{{"clients/holdfast/internal/lease/estimate.go",
			`over = over || a.id == by.id
		if !a.settled && answered {`}},
		found: estimate,
		says:  `until 31s, want 4\.625s`,
	},
	{
		name:  "FloorNotRaised",
		harm:  "a name that was forgotten gets its old tokens again",
		edits: []edit{{"actors/ledger/forget.go", "floor = max(floor, p.drop(c.resource)*0)"}},
		found: names,
		says:  `token \d+ of .* comes behind`,
	},
	{
		name:  "RememberedWithoutBound",
		harm:  "every name takes memory for a month",
		edits: []edit{{"actors/ledger/forget.go", "func (r Retention) share(p *page) int { return 1 << 40 }"}},
		found: names,
		says:  `names are remembered, \d+ may be`,
	},
	{
		name: "ShrunkWithoutToken",
		harm: "a name that has been free for a minute begins with token 1 again",
		edits: []edit{{
			"actors/ledger/tombstone.go",
			"token: i.Token() * 0, former: messages.Token(last.Grant.GetFormer()), owner: i.OwnerDigest,",
		}},
		found: pages,
		says:  `gets token \d+ again, behind`,
	},
	{
		name:  "GrantDuringADelay",
		harm:  "the next holder begins while the lost one may still write",
		edits: []edit{{"actors/lease/fits.go", "return i.fitsBeside(limit, permits)"}},
		found: live,
		says:  `holds the resource back|holding the resource back|still holds`,
	},
	{
		name:  "ConfirmationOfAnotherToken",
		harm:  "an agent that has stopped one holder lets the next one in beside another that it has not stopped",
		edits: []edit{{"actors/lease/confirm.go", "ended, ok := t.image.firstEnded()"}},
		found: heldBack,
		says:  `STALE_TOKEN`,
	},
	{
		name: "DelayNotReplayed",
		harm: "a new owner of the shard grants at once what is held back",
		edits: []edit{{"actors/opening.go",
			`for _, c := range r.GetCommit().GetChanges() {
		if c.GetGrant() != nil {
			c.Grant.DelayMs = 0
		}
	}
	if err := o.ledger.Read(position, r, replayed); err != nil {`}},
		found: successor,
		says:  `cannot be read: CONFIRMED of|want HELD_BACK`,
	},
	{
		name:  "LostLeasesNotInPages",
		harm:  "what is held back is forgotten when the journal is compacted",
		edits: []edit{{"actors/lease/stored.go", ""}},
		found: lostLeases,
		says:  `lost (EXPIRED|BROKEN)`,
	},
	{
		name:  "SecretNotChecked",
		harm:  "who knows the name of an owner releases and changes its lease",
		edits: []edit{{"actors/lease/caller.go", "return g.GetOwner() == c.owner"}},
		found: secrets,
		says:  `want NOT_OWNER`,
	},
	{
		name:  "SecretOfAReleaseNotChecked",
		harm:  "who knows the name of an owner and of its request releases its lease",
		edits: []edit{{"actors/lease/lookup.go", "return h, ok"}},
		found: secrets,
		says:  `RELEASED.*want NOT_HELD`,
	},
	{
		name:  "SecretOfARepetitionNotChecked",
		harm:  "who repeats a request of another client gets its lease",
		edits: []edit{{"actors/lease/acquire.go", "if isRepeated && granted.Grant == nil {"}},
		found: secrets,
		says:  `GRANTED.*want NOT_OWNER`,
	},
	{
		name:  "SecretOfAWaitingRequestNotChecked",
		harm:  "who repeats a waiting request of another client takes its place",
		edits: []edit{{"actors/lease/queue.go", "return place > len(q.waiters)"}},
		found: waitingSecrets,
		says:  `nats: timeout`,
	},
	{
		name:  "WithdrawalWithoutItsSecret",
		harm:  "who knows the name of a waiting request takes it out of the queue",
		edits: []edit{{"actors/lease/queue.go", "if i < 0 {"}},
		found: waitingSecrets,
		says:  `CANCELLED.*want NOT_HELD`,
	},
	{
		name: "SecretHashForgotten",
		harm: "a lease loses its secret when it is extended",
		edits: []edit{{"actors/lease/with.go",
			`c.SecretHash = nil
	change(c)`}},
		found: secrets,
		says:  `want NOT_OWNER`,
	},
	{
		name:  "SetIsLost",
		harm:  "the value that a leader has published, by the answer, is nowhere",
		edits: []edit{{"actors/lease/set.go", ""}},
		found: live,
		says:  `no such change of its value is in the journal`,
	},
	{
		name:  "SetServesNobody",
		harm:  "whoever waits for the room that a set has made waits until something else happens to the lock",
		edits: []edit{{"actors/lease/set.go", ""}},
		found: suite{folder: "actors/lease", run: "^TestRoomIsGivenToWaiters$"},
		says:  `after a set nothing is granted`,
	},
	{
		name: "SetRestartsTheLease",
		harm: "a holder keeps its lease by new metadata, though no client or successor counts on that",
		edits: []edit{{
			"actors/lease/lease.go",
			"case c.GetKind() == messages.Event_BROKEN: // new metadata leave the deadline as it was",
		}},
		found: steps,
		says:  `wakes at`,
	},
	{
		name:  "NoSubreaper",
		harm:  "a daemon of a command under a lock goes on when another client holds the lock",
		edits: []edit{{"cmd/holdfast/lock/child_linux.go", ""}},
		found: descendants,
		says:  `what the command has started is left`,
	},
	{
		name:  "KillsTheGroupOnly",
		harm:  "what a command under a lock starts in another session goes on when another client holds the lock",
		edits: []edit{{"cmd/holdfast/lock/child.go", ""}},
		found: descendants,
		says:  `what the command has started is left`,
	},
	{
		name:  "OwnerBeginsLikeTheIdentity",
		harm:  "the user alice acts for the user alice2",
		edits: []edit{{"actors/node/identity/owner.go", "case owner == id || strings.HasPrefix(owner, id):"}},
		found: owners,
		says:  `want INVALID`,
	},
	{
		name:  "ClaimedUser",
		harm:  "a client with a JWT is the user that it claims to be beside it",
		edits: []edit{{"actors/node/identity/verifier.go", "return info.User, nil"}},
		found: owners,
		says:  `with the identity "U`,
	},
	{
		name:  "HeaderBehindTheEnd",
		harm:  "a client hides the header of NATS behind an empty line, and is whoever its own header says",
		edits: []edit{{"actors/node/identity/verifier.go", "case sent > 2*length:"}},
		found: owners,
		says:  `want a lease of .* or INVALID`,
	},
	{
		name:  "HeaderInAValue",
		harm:  "a client hides the header of NATS in a value, and is whoever its own header says",
		edits: []edit{{"actors/node/identity/verifier.go", "if name != header && strings.Contains(name, header) {"}},
		found: owners,
		says:  `want a lease of .* or INVALID`,
	},
	{
		name:  "GuessedSurvey",
		harm:  "a client that has seen where a node asks about a session answers its next question",
		edits: []edit{{"actors/node/inbox.go", "return end, hmac.Equal(nil, nil)"}},
		found: suite{folder: "actors/node", run: "^TestForgedSurveyAnswers$"},
		says:  `forged answers count`,
	},
	{
		name: "DirectRequest",
		harm: "a request that did not come through a service import names any owner",
		edits: []edit{
			{"actors/node/intake.go", "to.Origin.Identity, _ = i.verifier.Of(m)"},
			{"actors/node/transport.go", `if e.Key == "" {`},
		},
		found: owners,
		says:  `through a service import`,
	},
	{
		name: "PasswordsOnly",
		harm: "a client with a password claims to be another user by an nkey that NATS does not verify",
		edits: []edit{{
			"jetstream/embedded/config.go",
			"if c.VerifiedUsers && len(opts.Nkeys) < 0 && len(opts.TrustedOperators) == 0 && len(opts.TrustedKeys) == 0 {",
		}},
		found: owners,
		says:  `want an error that names nkeys`,
	},
	{
		name:  "TenantLostOnTheWay",
		harm:  "a request of a tenant is one of no tenant if the owner of its shard is not the node that took it in",
		edits: []edit{{"actors/node/routing/envelope.go", `Tenant: "",`}},
		found: tenantsOfNodes,
		says:  `holdfast\.tenant\.[AB]\.(acquire|get)\.k\d+`,
	},
	{
		name:  "TenantsShareLimits",
		harm:  "what one tenant holds counts for another",
		edits: []edit{{"actors/node/tenants.go", "t = &tenant{name: name, share: &s.quota.Share,"}},
		found: tenants,
		says:  `acquire of h3 .*OVERLOADED.*want GRANTED`,
	},
	{
		name: "TenantsShareSessions",
		harm: "the end of a session of one tenant ends the leases of another, whose session has the same id",
		edits: []edit{
			{"actors/node/intake.go", "e.Operation, e.Shard, e.Key, e.Resource = a.Operation, a.Shard.Number, a.Key, id"},
			{"actors/node/routing/envelope.go", `*session = messages.Qualify("", *session)`},
		},
		found: tenants,
		says:  `keep of 0123456789abcdef .*NOT_HELD, want EXTENDED`,
	},
	{
		name: "TenantsShareTheBoundOfSessions",
		harm: "a tenant that has all its sessions keeps the others from opening one",
		edits: []edit{{"actors/lease/group.go",
			`tenant = ""
	g := s.groups[tenant]`}},
		found: sessionsOfTenants,
		says:  `another tenant: OVERLOADED`,
	},
	{
		name:  "SessionsOfATenantUnbounded",
		harm:  "a tenant has all sessions that a shard may have, and the others none",
		edits: []edit{{"actors/lease/group.go", "if !full {"}},
		found: sessionsOfTenants,
		says:  `one more of the tenant: GRANTED`,
	},
	{
		name:  "PlainEventsOfTenants",
		harm:  "the events of a tenant reach the subscribers of no tenant",
		edits: []edit{{"messages/event.go", "_ = p.Tenant(tenant)"}},
		found: tenants,
		says:  `got .* on holdfast\.event\.name`,
	},
	{
		name:  "ListingOfAllTenants",
		harm:  "a tenant lists the resources of others",
		edits: []edit{{"actors/node/list.go", "return messages.AllTenants, nil"}},
		found: tenants,
		says:  `lists \[`,
	},
	{
		name:  "ErrorNamesTheTenant",
		harm:  "an error shows a client in which account it is",
		edits: []edit{{"actors/lease/state.go", "name := s.resource"}},
		found: tenants,
		says:  `got a message on .* with`,
	},
	{
		name:  "ImportedRequestLostOnTheWay",
		harm:  "a request through an import has no answer if the owner of its shard is not the node that took it in",
		edits: []edit{{"actors/node/routing/envelope.go", `if isReserved("") {`}},
		found: envelopes,
		says:  `became`,
	},
	{
		name:  "SenderLostOnTheWay",
		harm:  "a request is refused if the owner of its shard is not the node that took it in",
		edits: []edit{{"actors/node/routing/envelope.go", `Inner: m.Header.Get(headerInner) != "", Identity: "",`}},
		found: senders,
		says:  `want a lease of alice`,
	},
	{
		name: "IdentityLostByAnExtension",
		harm: "a lease that was extended does not show who acquired it",
		edits: []edit{{"actors/lease/with.go",
			`c.Identity = ""
	change(c)`}},
		found: copies,
		says:  `want`,
	},
	{
		name: "TextOfAClientTakenForAFault",
		harm: "a client that sends a few words makes NATS restart, also without a login",
		edits: []edit{
			{"jetstream/embedded/logger.go", "if false {"},
			{"jetstream/embedded/logger.go", `if strings.Contains(line, "ritical write error") {`},
		},
		found: hostile,
		says:  `the log says: .*this node cannot store on its disk`,
	},
	{
		name:  "AnswerIntoTheJournal",
		harm:  "a client has the node write its answer over a record of a bucket",
		edits: []edit{{"messages/subject.go", "case subject[0] == '!':"}},
		found: hostile,
		says:  `cannot be read|a commit is missing`,
	},
	{
		name:  "PartWithoutLeasesTaken",
		harm:  "a node that answers that there are more leases, and sends none, ends the process of another",
		edits: []edit{{"actors/node/list.go", "if false {"}},
		found: parts,
		says:  `index out of range`,
	},
	{
		name:  "CertificatesNotRequired",
		harm:  "a client without a certificate is let in despite --tls-verify",
		edits: []edit{{"jetstream/embedded/tls.go", "CaFile: f.CA})"}},
		found: certificates,
		says:  `exit code 0, wanted 5`,
	},
	{
		name:  "ClientBecomesAMember",
		harm:  "a client with a certificate starts a member of the cluster, which can read and write everything",
		edits: []edit{{"jetstream/embedded/tls.go", "_ = known"}},
		found: strangers,
		says:  `did not write "authentication error"`,
	},
	{
		name:  "OpenByNoAuthUser",
		harm:  "clients of other hosts get in without a login, although --allow-remote is not given",
		edits: []edit{{"jetstream/embedded/auth.go", `case opts.NoAuthUser == "nobody":`}},
		found: loginFiles,
		says:  `"0\.0\.0\.0:0".*deadline exceeded`,
	},
	{
		name: "ClientBreaks",
		harm: "a printed client may take locks away from their holders",
		edits: []edit{{
			"cmd/holdfast/access/users.go",
			`{For: "locks", Publish: d.on(t.Keys, operations(useLocks, useLooks, useBreaks)...)},`,
		}},
		found: rights,
		says:  `holdfast\.break\.orders\.1: refused: false`,
	},
	{
		name: "InboxesOfOthers",
		harm: "a printed user may read the answers to others",
		edits: []edit{{
			"cmd/holdfast/access/users.go",
			`return Right{For: "answers; the client needs the inbox prefix " + inbox, Subscribe: []string{defaultInbox + ".>"}}`,
		}},
		found: rights,
		says:  `_INBOX\.another\.>: refused: false`,
	},
	{
		name:  "ProbeAnywhere",
		harm:  "a client has a node publish where only nodes may, by the subject of its session",
		edits: []edit{{"actors/node/transport.go", "err := t.cfg.Prefix.CheckReply(to.Subject)"}},
		found: deputies,
		says:  `alive \$KV`,
	},
	{
		name:  "AnswerAnywhere",
		harm:  "a client has a node send an answer as an event, or as a message of a node",
		edits: []edit{{"messages/subject.go", "case string(p) == subject:"}},
		found: deputies,
		says:  `a node published on holdfast\.|alive holdfast\.`,
	},
	{
		name:  "EverythingExported",
		harm:  "users of other accounts speak as nodes and forge events",
		edits: []edit{{"cmd/holdfast/access/share.go", `all := []share{newShare(service, string(d.Prefix)+".>")}`}},
		found: apart,
		says:  `there was a message on holdfast\.`,
	},
	{
		name:  "BlockCountsTwice",
		harm:  "a lock whose actor panicked issues the tokens of its ephemeral leases again",
		edits: []edit{{"actors/ledger/suspended.go", ""}},
		found: suite{folder: "actors", run: "^TestTokensOfIdleLocks$"},
		says:  `behind token`,
	},
	{
		name:  "BlockInAnOldFormat",
		harm:  "a node of the version before opens a shard with a block, and issues its tokens again",
		edits: []edit{{"messages/journal/record.go", "x.Format = plainFormat"}},
		found: suite{module: "messages", folder: "journal", run: "^TestFormatOfARecord$"},
		says:  `format 3, want 4`,
	},
	{
		name:  "BlockDoesNotMoveTheCounter",
		harm:  "the next holder gets a token that the holder of a block has used",
		edits: []edit{{"actors/lease/image.go", "return max(i.Floor, i.leases.last.token())"}},
		found: steps,
		says:  `and the last token is \d+`,
	},
	{
		name:  "TombstoneOfABlockForgetsItsName",
		harm:  "who releases a block once more after some minutes reads that it never held it",
		edits: []edit{{"actors/lease/shrink.go", ""}},
		found: suite{folder: "actors/lease", run: "^TestShrunkAnswersAlike$"},
		says:  `shrunk, then`,
	},
	{
		name:  "BlockIsShared",
		harm:  "two processes of one owner use the same tokens",
		edits: []edit{{"actors/lease/lookup.go", "if same && who.owns(h.Grant) {"}},
		found: steps,
		says:  `a_reentrant_request_does_not_get_it`,
	},
	{
		name:  "GrowthIsNotReserved",
		harm:  "after a change of owner the tokens of an ephemeral block are issued again",
		edits: []edit{{"actors/lease/extend.go", ""}},
		found: suite{folder: "actors/lease", run: "^TestEphemeralBlock$"},
		says:  `want "reserved #2015`,
	},
	{
		name: "GrowthIntoIssuedTokens",
		harm: "a lease that a restore has brought back gets tokens that others have used since the backup",
		edits: []edit{
			{"actors/lease/extend.go", "case t.image.Token() > messages.MaxToken:"},
			{"actors/ledger/ledger.go", "return isSame"},
		},
		found: suite{folder: "backup", run: "^TestRestoredTokens$"},
		says:  `has tokens behind \d+ and token \d+ was issued`,
	},
	{
		name: "ReleaseEndsTheShortestHold",
		harm: "a job that ends at once runs again by the slower clock of another host",
		edits: []edit{{"actors/lease/turn.go",
			`if kind == messages.Event_RELEASED {
		c.RestingMs = 0
	}
	t.apply(t.now.Instant, l.Grant, c)`}},
		found: steps,
		says:  `want RELEASED ann#1 1s rests=`,
	},
	{
		name:  "RestNotStored",
		harm:  "what is left of a shortest hold is forgotten when the journal is compacted",
		edits: []edit{{"actors/lease/stored.go", ""}},
		found: suite{folder: "actors/lease", run: "^TestRestore$"},
		says:  `was restored as`,
	},
	{
		name:  "BlocksWithoutBound",
		harm:  "a client uses up the tokens of a name within hours, and with it those of all names that are forgotten",
		edits: []edit{{"actors/lease/block.go", "case false:"}},
		found: suite{folder: "actors/lease", run: "^TestBlocksAreBounded$"},
		says:  `want OVERLOADED`,
	},
	{
		name:  "ClosedJournalIsOpened",
		harm:  "a node that slept through another number of shards grants locks that others hold in the new shards",
		edits: []edit{{"actors/opening.go", "case true:"}},
		found: suite{folder: "actors", run: "^TestClosedJournal$"},
		says:  `a journal that is closed for good`,
	},
	{
		name:  "EventsBehindAClosedJournal",
		harm:  "the last events before another number of shards are never published",
		edits: []edit{{"actors/handover.go", "if false {"}},
		found: suite{folder: "actors", run: "^TestCloseJournalWithoutEvents$"},
		says:  `it was closed`,
	},
	{
		name:  "WaitBeginsAnewInTheNextGeneration",
		harm:  "a request waits for longer than it may when the number of shards changes",
		edits: []edit{{"actors/node/routing/router.go", ""}},
		found: suite{folder: "actors/node/routing", run: "^TestNextGeneration$"},
		says:  `were refused that have waited`,
	},
	{
		name:  "FormerSubjectsAreDirect",
		harm:  "a client that has slept through another number of shards is refused for ever",
		edits: []edit{{"actors/node/intake.go", "a.Direct = a.Direct || g.serves(a)"}},
		found: formerSubjects,
		says:  `INVALID`,
	},
	{
		name:  "FormerSubjectForgottenOnTheWay",
		harm:  "a client goes on to use the direct subjects of former shards, and each request takes another hop",
		edits: []edit{{"actors/node/routing/envelope.go", ""}},
		found: formerSubjects,
		says:  `generation "", want "2"`,
	},
	{
		name:  "ReshardForgetsTheLowWaterMark",
		harm:  "a token is issued again of a name that was forgotten before the number of shards changed",
		edits: []edit{{"cmd/holdfast/reshard/journals.go", ""}},
		found: suite{folder: "cmd/holdfast/reshard", run: "^TestTargetsHaveEverything$"},
		says:  `the low-water mark is 0`,
	},
	{
		name:  "ReshardCopiesOpenJournals",
		harm:  "locks that are granted while the number of shards changes are lost",
		edits: []edit{{"cmd/holdfast/reshard/journals.go", "if true {"}},
		found: suite{folder: "cmd/holdfast/reshard", run: "^TestOpenJournals$"},
		says:  `it was copied`,
	},
	{
		name:  "ReshardRepeatsPositions",
		harm:  "ids of events repeat after the number of shards has changed",
		edits: []edit{{"cmd/holdfast/reshard/journals.go", "case false:"}},
		found: suite{folder: "cmd/holdfast/reshard", run: "^TestJournalsThatCannotFollow$"},
		says:  `want beyond the beginning`,
	},
	{
		name:  "EventOfAFormerShardStoredAgain",
		harm:  "an owner that was paused stores an event behind later ones of the resource in another shard",
		edits: []edit{{"jetstream/eventlog/publish.go", "has = err == nil && id.Shard == e.GetShard() && !id.Before(e.ID())"}},
		found: suite{folder: "jetstream/eventlog", run: "^TestRetainedOnceInAllGenerations$"},
		says:  `2 events of shard 0, want 1`,
	},
}
