package lease_test

var sharingRows = []row{
	{"the first reader begins a phase",
		"floor 6",
		"0s ann acquire limit=all",
		"ACQUIRED ann#7[0]/all@7 1s; ann: GRANTED ann#7[0]/all@7 1s/1s"},
	{"limit 1 is exclusive",
		"",
		"0s ann acquire limit=1 permits=1",
		"ACQUIRED ann#1 1s; ann: GRANTED ann#1 1s/1s"},
	{"a writer does not fit beside a reader",
		"0s ann acquire limit=all",
		"100ms bob acquire",
		"bob: HELD ann#1[0]/all@1 900ms/1s held=1 holders=ann#1"},
	{"a reader does not fit beside a writer",
		"0s ann acquire",
		"100ms bob acquire limit=all",
		"bob: HELD ann#1 900ms/1s"},
	{"readers enter together",
		"0s ann acquire; 0s bob acquire limit=all wait=1s; 0s cid acquire limit=all wait=1s; 0s dan acquire wait=1s; " +
			"0s eve acquire limit=all wait=1s",
		"100ms ann release",
		`RELEASED ann#1 1s
		 ACQUIRED bob#2[0]/all@2 1s
		 ACQUIRED cid#3[1]/all@2 1s
		 bob: GRANTED bob#2[0]/all@2 1s/1s waiting=3 doubted
		 cid: GRANTED cid#3[1]/all@2 1s/1s waiting=2 doubted
		 ann: RELEASED waiting=2
		 queue=2`},
	{"a writer at the head stops a reader that would fit",
		"0s ann acquire limit=all; 0s bob acquire wait=1s",
		"100ms cid acquire limit=all wait=1s",
		"queue=2"},
	{"a writer at the head stops a reader that does not wait",
		"0s ann acquire limit=all; 0s bob acquire wait=1s",
		"100ms cid acquire limit=all",
		"cid: HELD ann#1[0]/all@1 900ms/1s held=1 holders=ann#1 waiting=1; queue=1"},
	{"a writer waits until the last reader has gone",
		"0s ann acquire limit=all; 0s bob acquire limit=all; 0s cid acquire wait=1s; 100ms ann release",
		"200ms bob release",
		`RELEASED bob#2[1]/all@1 1s
		 ACQUIRED cid#3 1s
		 cid: GRANTED cid#3 1s/1s doubted
		 bob: RELEASED`},

	{"two permits, and one is free",
		"0s ann acquire limit=3 permits=2",
		"100ms bob acquire limit=3 permits=2",
		"bob: HELD ann#1[0,1]/3@1 900ms/1s held=2 holders=ann#1"},
	{"the head comes again and asks for less",
		"0s ann acquire limit=3 permits=2; 0s bob acquire limit=3 permits=2 wait=1s id=x; " +
			"0s cid acquire limit=3 wait=1s",
		"100ms bob acquire limit=3 wait=1s id=x from=bob2",
		`ACQUIRED bob#2[2]/3@1 1s
		 bob2: GRANTED bob#2[2]/3@1 1s/1s waiting=1 doubted
		 queue=1`},

	{"the phase is another after all have expired in one step",
		"0s ann acquire limit=all; 0s bob acquire limit=all; 0s cid acquire limit=2 permits=2 wait=2s",
		"1s node tick",
		`EXPIRED ann#1[0]/all@1 1s
		 EXPIRED bob#2[1]/all@1 1s
		 ACQUIRED cid#3[0,1]/2@3 1s
		 cid: GRANTED cid#3[0,1]/2@3 1s/1s doubted`},

	{"one of two expires",
		"0s ann acquire limit=2; 0s bob acquire limit=2 ttl=2s; 0s cid acquire limit=2 wait=2s",
		"1s node tick",
		`EXPIRED ann#1[0]/2@1 1s
		 ACQUIRED cid#3[0]/2@1 1s
		 cid: GRANTED cid#3[0]/2@1 1s/1s doubted`},
	{"the later of two expires",
		"0s ann acquire limit=2 ttl=2s; 0s bob acquire limit=2",
		"1s op get",
		"EXPIRED bob#2[1]/2@1 1s; op: HELD ann#1[0]/2@1 1s/2s held=1 holders=ann#1"},
	{"one of two is broken",
		"0s ann acquire limit=2; 0s bob acquire limit=2; 0s cid acquire limit=2 wait=2s",
		"100ms op break token=1 why=stuck",
		`BROKEN ann#1[0]/2@1 1s "stuck"
		 ACQUIRED cid#3[0]/2@1 1s
		 cid: GRANTED cid#3[0]/2@1 1s/1s doubted
		 op: RELEASED`},
	{"the last of two is broken again",
		"0s ann acquire limit=2; 0s bob acquire limit=2; 100ms op break token=2",
		"200ms op break token=2",
		"op: RELEASED"},
	{"a token of none is broken",
		"0s ann acquire limit=2; 0s bob acquire limit=2",
		"100ms op break token=3",
		"op: STALE_TOKEN ann#1[0]/2@1 900ms/1s"},
	{"one of two is extended",
		"0s ann acquire limit=2; 0s bob acquire limit=2",
		"100ms ann extend token=1",
		"EXTENDED ann#1[0]/2@1 1s; ann: EXTENDED ann#1[0]/2@1 1s/1s"},

	{"the head gives up, and those behind it are granted",
		"0s ann acquire limit=all; 0s bob acquire wait=1s id=x; 0s cid acquire limit=all wait=1s; " +
			"0s dan acquire limit=all wait=1s",
		"100ms bob release id=x from=bob2",
		`ACQUIRED cid#2[1]/all@1 1s
		 ACQUIRED dan#3[2]/all@1 1s
		 bob: CANCELLED waiting=2
		 bob2: CANCELLED waiting=2
		 cid: GRANTED cid#2[1]/all@1 1s/1s waiting=1 doubted
		 dan: GRANTED dan#3[2]/all@1 1s/1s doubted`},
	{"the wait of the head is over, and those behind it are granted",
		"0s ann acquire limit=all; 0s bob acquire wait=100ms; 0s cid acquire limit=all wait=1s; " +
			"0s dan acquire limit=all wait=1s",
		"100ms node tick",
		`ACQUIRED cid#2[1]/all@1 1s
		 ACQUIRED dan#3[2]/all@1 1s
		 bob: TIMEOUT ann#1[0]/all@1 900ms/1s waiting=2
		 cid: GRANTED cid#2[1]/all@1 1s/1s waiting=1 doubted
		 dan: GRANTED dan#3[2]/all@1 1s/1s doubted`},
	{"the grant of one reader is undeliverable",
		"0s ann acquire; 0s bob acquire limit=2 wait=1s; 0s cid acquire limit=2 wait=1s; " +
			"0s dan acquire limit=2 wait=1s; 100ms ann release",
		"200ms node undeliverable token=2",
		`RELEASED bob#2[0]/2@2 1s "the client was gone"
		 ACQUIRED dan#4[0]/2@2 1s
		 dan: GRANTED dan#4[0]/2@2 1s/1s doubted`},
	{"the grant of one reader is undeliverable, but it has used it",
		"0s ann acquire; 0s bob acquire limit=2 wait=1s; 0s cid acquire limit=2 wait=1s; 100ms ann release; " +
			"150ms bob extend from=bob2",
		"200ms node undeliverable token=2",
		""},
	{"the grant of one reader is undeliverable, and another has used its own",
		"0s ann acquire; 0s bob acquire limit=2 wait=1s; 0s cid acquire limit=2 wait=1s; 100ms ann release; " +
			"150ms cid extend from=cid2",
		"200ms node undeliverable token=2",
		`RELEASED bob#2[0]/2@2 1s "the client was gone"`},

	{"the same request again, of an earlier reader",
		"0s ann acquire limit=all id=x; 0s bob acquire limit=all",
		"100ms ann acquire limit=all id=x",
		"ann: GRANTED ann#1[0]/all@1 900ms/1s"},
	{"the same request again, while a writer waits",
		"0s ann acquire limit=all id=x; 0s bob acquire wait=1s",
		"100ms ann acquire limit=all id=x",
		"ann: GRANTED ann#1[0]/all@1 900ms/1s waiting=1; queue=1"},
	{"late, after its release, while others hold: it shows its phase",
		"0s ann acquire limit=all; 0s bob acquire limit=all id=x; 100ms bob release; 100ms cid acquire limit=all",
		"200ms bob acquire limit=all id=x",
		"bob: RELEASED bob#2@1"},

	{"released with the token, by an owner of several",
		"0s ann acquire limit=all; 0s ann acquire limit=all",
		"100ms ann release token=1",
		"RELEASED ann#1[0]/all@1 1s; ann: RELEASED"},
	{"released by its request, by an owner of several",
		"0s ann acquire limit=all id=x; 0s ann acquire limit=all id=y",
		"100ms ann release id=x",
		"RELEASED ann#1[0]/all@1 1s; ann: RELEASED"},
	{"released without a token, by an owner of several",
		"0s ann acquire limit=all; 0s ann acquire limit=all; 0s bob acquire wait=1s",
		"100ms ann release",
		"ann: INVALID; queue=1"},
	{"extended without a token, by an owner of several",
		"0s ann acquire limit=all; 0s ann acquire limit=all",
		"100ms ann extend",
		"ann: INVALID"},
	{"released without a token, by an owner of one beside others",
		"0s ann acquire limit=all; 0s bob acquire limit=all",
		"100ms ann release",
		"RELEASED ann#1[0]/all@1 1s; ann: RELEASED"},
	{"released with the token of another",
		"0s ann acquire limit=all; 0s bob acquire limit=all",
		"100ms bob release token=1",
		"bob: STALE_TOKEN bob#2[1]/all@1 900ms/1s"},
	{"released by an owner that holds nothing",
		"0s ann acquire limit=all; 0s bob acquire limit=all",
		"100ms cid release token=1",
		"cid: NOT_OWNER ann#1[0]/all@1 900ms/1s"},
	{"released again, while others hold",
		"0s ann acquire limit=all; 0s bob acquire limit=all; 100ms ann release token=1",
		"200ms ann release token=1",
		"ann: RELEASED"},
	{"released again without a token, while others hold",
		"0s ann acquire limit=all; 0s bob acquire limit=all; 100ms ann release token=1",
		"200ms ann release",
		"ann: NOT_OWNER bob#2[1]/all@1 800ms/1s"},
	{"extended after it expired, while others hold",
		"0s ann acquire limit=all; 0s bob acquire limit=all ttl=5s",
		"1s ann extend token=1",
		"EXPIRED ann#1[0]/all@1 1s; ann: EXPIRED"},
	{"extended after its release, while others hold",
		"0s ann acquire limit=all; 0s bob acquire limit=all; 100ms ann release",
		"200ms ann extend token=1",
		"ann: NOT_HELD"},
	{"released after it was broken, while others hold",
		"0s ann acquire limit=all; 0s bob acquire limit=all; 100ms op break token=1",
		"200ms ann release token=1",
		"ann: EXPIRED"},

	{"reentrant, of the same kind",
		"0s ann acquire limit=5 permits=2",
		"100ms ann acquire limit=5 permits=2 reentrant",
		"EXTENDED ann#1[0,1]/5@1 1s; ann: GRANTED ann#1[0,1]/5@1 1s/1s"},
	{"reentrant, the latest of the same kind",
		"0s ann acquire limit=5; 0s ann acquire limit=5; 0s ann acquire limit=5 permits=2",
		"100ms ann acquire limit=5 reentrant ttl=500ms",
		"ann: GRANTED ann#2[1]/5@1 900ms/1s"},
	{"reentrant, with other permits: another lease",
		"0s ann acquire limit=5 permits=2",
		"100ms ann acquire limit=5 permits=1 reentrant",
		"ACQUIRED ann#2[2]/5@1 1s; ann: GRANTED ann#2[2]/5@1 1s/1s"},
	{"reentrant, with another limit: another lease",
		"0s ann acquire limit=5",
		"100ms ann acquire limit=all reentrant",
		"ACQUIRED ann#2[1]/all@1 1s; ann: GRANTED ann#2[1]/all@1 1s/1s"},
	{"reentrant as a writer, by a reader: no upgrade",
		"0s ann acquire limit=all",
		"100ms ann acquire reentrant",
		"ann: HELD ann#1[0]/all@1 900ms/1s held=1 holders=ann#1"},
	{"reentrant, while a writer waits",
		"0s ann acquire limit=all; 0s bob acquire wait=1s",
		"100ms ann acquire limit=all reentrant",
		"EXTENDED ann#1[0]/all@1 1s; ann: GRANTED ann#1[0]/all@1 1s/1s waiting=1; queue=1"},
	{"reentrant, at the head, and answered when it came again: the next is granted",
		"0s ann acquire limit=3; 0s ann acquire limit=3 permits=3 wait=1s id=x; 0s bob acquire limit=3 wait=1s",
		"100ms ann acquire limit=3 reentrant id=x from=ann2",
		`EXTENDED ann#1[0]/3@1 1s
		 ACQUIRED bob#2[1]/3@1 1s
		 ann2: GRANTED ann#1[0]/3@1 1s/1s waiting=1
		 bob: GRANTED bob#2[1]/3@1 1s/1s doubted`},

	{"who waits",
		"0s ann acquire limit=5; 0s bob acquire wait=1s; 50ms cid acquire limit=5 permits=2 wait=2s",
		"100ms op get waiters",
		"op: HELD ann#1[0]/5@1 900ms/1s held=1 holders=ann#1 waiting=2 " +
			"waiters=bob/0x1(100ms,900ms),cid/5x2(50ms,1.95s); queue=2"},
	{"who waits, after one came again",
		"0s ann acquire; 0s bob acquire wait=1s id=x; 50ms bob acquire wait=2s id=x from=bob2",
		"100ms op get waiters",
		"op: HELD ann#1 900ms/1s waiting=1 waiters=bob/0x1(100ms,1.95s); queue=1"},
	{"who waits for a free resource",
		"0s ann acquire limit=all; 100ms ann release",
		"200ms op get waiters",
		"op: FREE #1"},
	{"who waits, unasked",
		"0s ann acquire; 0s bob acquire wait=1s",
		"100ms op get",
		"op: HELD ann#1 900ms/1s waiting=1; queue=1"},
	{"two hold, the node may grant no more",
		"0s ann acquire limit=all; 0s bob acquire limit=all",
		"100ms cid acquire limit=all nogrant=full",
		"cid: OVERLOADED"},
	{"no token is left for another reader",
		"floor 899_999_999_999_999; 0s ann acquire limit=all",
		"100ms bob acquire limit=all",
		"bob: EXHAUSTED"},
}
