package lease_test

var queueRows = []row{
	{"waits",
		"0s ann acquire",
		"100ms bob acquire wait=1s",
		"queue=1"},
	{"waits for its own lease, if it asks so",
		"0s ann acquire",
		"100ms ann acquire wait=1s from=ann2",
		"queue=1"},
	{"waits in the last place that there is",
		"0s ann acquire; 0s bob acquire wait=1s",
		"100ms cid acquire wait=1s room=2",
		"queue=2"},
	{"as many wait as may",
		"0s ann acquire; 0s bob acquire wait=1s",
		"100ms cid acquire wait=1s room=1",
		"cid: OVERLOADED waiting=1; queue=1"},
	{"there is room, but the node lets no more wait",
		"0s ann acquire",
		"100ms bob acquire wait=1s nowait=full",
		"bob: OVERLOADED"},
	{"the node lets no more wait, but one waits already",
		"0s ann acquire; 0s bob acquire wait=1s id=x",
		"100ms bob acquire wait=1s id=x nowait=full from=bob2",
		"queue=1"},
	{"waits, though the node may grant no more",
		"0s ann acquire",
		"100ms bob acquire wait=1s nogrant=full",
		"queue=1"},
	{"handed on, though the node may grant no more: one has ended for it",
		"0s ann acquire; 0s bob acquire wait=1s nogrant=full",
		"100ms ann release",
		`RELEASED ann#1 1s
		 ACQUIRED bob#2 1s
		 bob: GRANTED bob#2 1s/1s doubted
		 ann: RELEASED`},
	{"no request may wait",
		"0s ann acquire",
		"100ms bob acquire wait=1s room=0",
		"bob: OVERLOADED"},
	{"as many wait as may, but one waits already",
		"0s ann acquire; 0s bob acquire wait=1s id=x",
		"100ms bob acquire wait=1s id=x room=1 from=bob2",
		"queue=1"},

	{"the same request again keeps its place",
		"0s ann acquire; 0s bob acquire wait=1s id=x; 0s cid acquire wait=1s; 50ms bob acquire wait=1s id=x from=bob2",
		"100ms ann release",
		`RELEASED ann#1 1s
		 ACQUIRED bob#2 1s
		 bob2: GRANTED bob#2 1s/1s waiting=1 doubted
		 ann: RELEASED waiting=1
		 queue=1`},
	{"the same request again with more time to wait",
		"0s ann acquire; 0s bob acquire wait=200ms id=x; 100ms bob acquire wait=500ms id=x from=bob2",
		"200ms node tick",
		"queue=1"},
	{"the same request again with less time to wait",
		"0s ann acquire; 0s bob acquire wait=900ms id=x; 100ms bob acquire wait=100ms id=x from=bob2",
		"200ms node tick",
		"bob2: TIMEOUT ann#1 800ms/1s"},
	{"the same request again without a wait: held, and the one before waits on",
		"0s ann acquire; 0s bob acquire wait=900ms id=x",
		"100ms bob acquire id=x from=bob2",
		"bob2: HELD ann#1 900ms/1s waiting=1; queue=1"},
	{"the same id of another owner is another request",
		"0s ann acquire; 0s bob acquire wait=1s id=x",
		"100ms cid acquire wait=1s id=x",
		"queue=2"},

	{"some waits are over, in the order in which they began",
		`0s ann acquire; 0s bob acquire wait=300ms; 50ms cid acquire wait=900ms
		 100ms dan acquire wait=100ms; 100ms eve acquire wait=200ms`,
		"300ms node tick",
		"bob: TIMEOUT ann#1 700ms/1s waiting=1; dan: TIMEOUT ann#1 700ms/1s waiting=1; " +
			"eve: TIMEOUT ann#1 700ms/1s waiting=1; queue=1"},
	{"a wait is over at the moment when the lease is",
		"0s ann acquire; 0s bob acquire wait=1s",
		"1s node tick",
		"EXPIRED ann#1 1s; bob: TIMEOUT"},
	{"a wait is over one nanosecond after the lease is",
		"0s ann acquire; 0.000001ms bob acquire wait=1s",
		"1s node tick",
		"EXPIRED ann#1 1s; ACQUIRED bob#2 1s; bob: GRANTED bob#2 1s/1s doubted"},
	{"a wait is over at the moment of a release",
		"0s ann acquire; 0s bob acquire wait=100ms",
		"100ms ann release",
		"RELEASED ann#1 1s; bob: TIMEOUT ann#1 900ms/1s; ann: RELEASED"},

	{"handed on to the second when the first has waited in vain",
		"0s ann acquire; 0s bob acquire wait=50ms; 0s cid acquire wait=1s",
		"100ms ann release",
		`RELEASED ann#1 1s
		 ACQUIRED cid#2 1s
		 bob: TIMEOUT ann#1 900ms/1s waiting=1
		 cid: GRANTED cid#2 1s/1s doubted
		 ann: RELEASED`},
	{"handed on twice within one step",
		"0s ann acquire; 0s bob acquire wait=2s; 0s cid acquire wait=2s",
		"1s bob release from=bob2",
		`EXPIRED ann#1 1s
		 ACQUIRED bob#2 1s
		 RELEASED bob#2 1s
		 ACQUIRED cid#3 1s
		 bob: GRANTED bob#2 1s/1s waiting=1 doubted
		 cid: GRANTED cid#3 1s/1s doubted
		 bob2: RELEASED`},
	{"no request overtakes the queue",
		"0s ann acquire; 0s bob acquire wait=2s",
		"1s cid acquire",
		`EXPIRED ann#1 1s
		 ACQUIRED bob#2 1s
		 bob: GRANTED bob#2 1s/1s doubted
		 cid: HELD bob#2 1s/1s`},
	{"no token is left for the queue",
		"floor 899_999_999_999_999; 0s ann acquire; 0s bob acquire wait=1s; 0s cid acquire wait=1s",
		"100ms ann release",
		`RELEASED ann#900000000000000 1s
		 bob: EXHAUSTED waiting=1
		 cid: EXHAUSTED
		 ann: RELEASED`},

	{"all are sent away, the holder is not",
		"0s ann acquire; 0s bob acquire wait=1s; 0s cid acquire wait=2s",
		"100ms node dismiss why=moving",
		"bob: UNAVAILABLE; cid: UNAVAILABLE"},
	{"an empty queue is sent away",
		"0s ann acquire",
		"100ms node dismiss why=moving",
		""},
	{"sent away at the deadline: the first has it already",
		"0s ann acquire; 0s bob acquire wait=2s; 0s cid acquire wait=2s",
		"1s node dismiss why=moving",
		`EXPIRED ann#1 1s
		 ACQUIRED bob#2 1s
		 bob: GRANTED bob#2 1s/1s waiting=1 doubted
		 cid: UNAVAILABLE`},
	{"all are surrendered with what is left, the holder stays",
		"0s ann acquire; 0s bob acquire wait=1s; 50ms cid acquire wait=2s",
		"100ms node surrender",
		"bob: surrendered, waits 900ms; cid: surrendered, waits 1.95s"},
	{"a wait that is surrendered is never shorter than what is left",
		"0s ann acquire; 0s bob acquire wait=500ms",
		"499.999999ms node surrender",
		"bob: surrendered, waits 1ms"},
	{"surrendered when the wait has run out: it has its answer",
		"0s ann acquire; 0s bob acquire wait=500ms; 0s cid acquire wait=600ms",
		"500ms node surrender",
		"bob: TIMEOUT ann#1 500ms/1s waiting=1; cid: surrendered, waits 100ms"},
	{"surrendered at the deadline: the first has it already",
		"0s ann acquire; 0s bob acquire wait=2s; 0s cid acquire wait=2s",
		"1s node surrender",
		`EXPIRED ann#1 1s
		 ACQUIRED bob#2 1s
		 bob: GRANTED bob#2 1s/1s waiting=1 doubted
		 cid: surrendered, waits 1s`},
}

// The grant of bob is number 2, and cid waits for it.
const handedToBob = "0s ann acquire; 0s bob acquire wait=1s id=x; 0s cid acquire wait=5s; 100ms ann release; "

var undeliverableRows = []row{
	{"the grant goes to the next",
		handedToBob,
		"200ms node undeliverable token=2",
		`RELEASED bob#2 1s "the client was gone"
		 ACQUIRED cid#3 1s
		 cid: GRANTED cid#3 1s/1s doubted`},
	{"the queue is empty",
		"0s ann acquire; 0s bob acquire wait=1s; 100ms ann release",
		"200ms node undeliverable token=2",
		`RELEASED bob#2 1s "the client was gone"`},
	{"twice",
		handedToBob + "200ms node undeliverable token=2",
		"200ms node undeliverable token=2",
		""},
	{"of a token of the future",
		handedToBob,
		"200ms node undeliverable token=3",
		"queue=1"},
	{"of one that was never held",
		"",
		"0s node undeliverable",
		""},
	{"at the deadline",
		"0s ann acquire; 0s bob acquire wait=1s; 100ms ann release",
		"1.1s node undeliverable token=2",
		"EXPIRED bob#2 1s"},
}
