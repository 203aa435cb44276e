package lease_test

var downgradeRows = []row{
	{"an exclusive lease",
		"0s ann acquire",
		"100ms ann extend token=1 limit=all ttl=2s",
		`RELEASED ann#1 1s "downgraded"
		 ACQUIRED ann#2[0]/all@2 2s former=1
		 ann: EXTENDED ann#2[0]/all@2 2s/2s`},
	{"whatever the owner holds",
		"0s ann acquire",
		"100ms ann extend limit=5",
		`RELEASED ann#1 1s "downgraded"
		 ACQUIRED ann#2[0]/5@2 1s former=1
		 ann: EXTENDED ann#2[0]/5@2 1s/1s`},
	{"readers wait, and enter with it",
		"0s ann acquire; 0s bob acquire limit=all wait=1s; 0s cid acquire limit=all wait=1s; 0s dan acquire wait=1s",
		"100ms ann extend limit=all",
		`RELEASED ann#1 1s "downgraded"
		 ACQUIRED ann#2[0]/all@2 1s former=1
		 ACQUIRED bob#3[1]/all@2 1s
		 ACQUIRED cid#4[2]/all@2 1s
		 ann: EXTENDED ann#2[0]/all@2 1s/1s waiting=3
		 bob: GRANTED bob#3[1]/all@2 1s/1s waiting=2 doubted
		 cid: GRANTED cid#4[2]/all@2 1s/1s waiting=1 doubted
		 queue=1`},
	{"an earlier lease that is alone again after a change of owner: the last request stays known",
		"0s ann acquire limit=3; 0s bob acquire limit=3 id=x; 100ms bob release; 150ms node takeover; " +
			"200ms ann extend limit=5",
		"300ms bob acquire limit=5 id=x",
		"bob: RELEASED bob#2@1"},

	{"again, with the former token: it has that limit",
		"0s ann acquire; 100ms ann extend token=1 limit=all",
		"200ms ann extend token=1 limit=all",
		"EXTENDED ann#2[0]/all@2 1s former=1; ann: EXTENDED ann#2[0]/all@2 1s/1s"},
	{"extended with the former token, limit unchanged",
		"0s ann acquire; 100ms ann extend limit=all",
		"200ms ann extend token=1",
		"EXTENDED ann#2[0]/all@2 1s former=1; ann: EXTENDED ann#2[0]/all@2 1s/1s"},
	{"released with the former token",
		"0s ann acquire; 100ms ann extend limit=all; 100ms bob acquire limit=all",
		"200ms ann release token=1",
		"RELEASED ann#2[0]/all@2 1s former=1; ann: RELEASED"},
	{"released again with the former token, while others hold",
		"0s ann acquire; 100ms ann extend limit=all; 100ms bob acquire limit=all; 150ms ann release token=1",
		"200ms ann release token=1",
		"ann: RELEASED"},
	{"the former token breaks nothing",
		"0s ann acquire; 100ms ann extend limit=all",
		"200ms op break token=1",
		"op: STALE_TOKEN ann#2[0]/all@2 900ms/1s"},
	{"the former token of another owner",
		"0s ann acquire; 100ms ann extend limit=all",
		"200ms bob release token=1",
		"bob: NOT_OWNER ann#2[0]/all@2 900ms/1s"},
	{"twice: the first token is no more",
		"0s ann acquire; 100ms ann extend limit=3; 200ms ann extend token=2 limit=5",
		"300ms ann extend token=1",
		"ann: STALE_TOKEN ann#3[0]/5@3 900ms/1s"},
	{"twice, by the former token, which would be no more when this is repeated",
		"0s ann acquire; 100ms ann extend token=1 limit=3",
		"200ms ann extend token=1 limit=5",
		"ann: STALE_TOKEN ann#2[0]/3@2 900ms/1s"},
	{"late and twice, by the former token",
		"0s ann acquire; 100ms ann extend token=1 limit=3 order=2",
		"200ms ann extend token=1 limit=5 order=1",
		"ann: STALE_TOKEN ann#2[0]/3@2 900ms/1s"},

	{"it keeps the numbers",
		"0s ann acquire; 100ms ann extend order=2; 100ms ann set order=3",
		"200ms ann extend limit=5",
		`RELEASED ann#1 1s orders=2,3 "downgraded"
		 ACQUIRED ann#2[0]/5@2 1s former=1 orders=2,3
		 ann: EXTENDED ann#2[0]/5@2 1s/1s order=2`},
	{"late, after a downgrade with a larger number: it shortens nothing",
		"0s ann acquire; 100ms ann extend limit=5 ttl=5s order=2",
		"200ms ann extend token=1 order=1",
		"ann: EXTENDED ann#2[0]/5@2 4.9s/5s order=2"},
	{"late: only the limit counts",
		"0s ann acquire; 100ms ann extend order=2 ttl=5s",
		"200ms ann extend token=1 limit=5 order=1",
		`RELEASED ann#1 5s orders=2,0 "downgraded"
		 ACQUIRED ann#2[0]/5@2 5s former=1 orders=2,0
		 ann: EXTENDED ann#2[0]/5@2 5s/5s order=2`},
	{"late, with the limit that the lease has",
		"0s ann acquire; 100ms ann extend limit=5 order=2",
		"200ms ann extend token=1 limit=5 ttl=100ms order=1",
		"ann: EXTENDED ann#2[0]/5@2 900ms/1s order=2"},
	{"late, with a smaller limit: the lease has a larger one",
		"0s ann acquire; 100ms ann extend limit=5 order=2",
		"200ms ann extend limit=3 order=1",
		"ann: EXTENDED ann#2[0]/5@2 900ms/1s order=2"},
	{"late, beside others",
		"0s ann acquire limit=5; 0s bob acquire limit=5; 100ms ann extend order=2",
		"200ms ann extend limit=all order=1",
		"ann: INVALID"},
	{"again with a larger number",
		"0s ann acquire; 100ms ann extend limit=5 order=1",
		"200ms ann extend token=1 limit=5 order=2 ttl=2s",
		"EXTENDED ann#2[0]/5@2 2s former=1 orders=2,0; ann: EXTENDED ann#2[0]/5@2 2s/2s order=2"},

	{"a smaller limit",
		"0s ann acquire limit=5",
		"100ms ann extend limit=3",
		"ann: INVALID"},
	{"not alone",
		"0s ann acquire limit=5; 0s bob acquire limit=5; 0s cid acquire wait=1s",
		"100ms ann extend limit=all",
		"ann: INVALID; queue=1"},
	{"limit 1 of an exclusive lease changes nothing",
		"0s ann acquire",
		"100ms ann extend limit=1",
		"EXTENDED ann#1 1s; ann: EXTENDED ann#1 1s/1s"},
	{"of another owner",
		"0s ann acquire",
		"100ms bob extend limit=all",
		"bob: NOT_OWNER ann#1 900ms/1s"},
	{"at the deadline",
		"0s ann acquire",
		"1s ann extend limit=all",
		"EXPIRED ann#1 1s; ann: EXPIRED"},
	{"no token is left: the lease stays as it is",
		"floor 899_999_999_999_999; 0s ann acquire",
		"100ms ann extend limit=all",
		"ann: EXHAUSTED"},
	{"the last token is left",
		"floor 899_999_999_999_998; 0s ann acquire; 0s bob acquire limit=all wait=1s",
		"100ms ann extend limit=all",
		`RELEASED ann#899999999999999 1s "downgraded"
		 ACQUIRED ann#900000000000000[0]/all@900000000000000 1s former=899999999999999
		 ann: EXTENDED ann#900000000000000[0]/all@900000000000000 1s/1s waiting=1
		 bob: EXHAUSTED`},

	{"the same request again gets what it has become",
		"0s ann acquire id=x; 100ms ann extend limit=all",
		"200ms ann acquire id=x",
		"ann: GRANTED ann#2[0]/all@2 900ms/1s"},
	{"late, after it was downgraded and released",
		"0s ann acquire id=x; 100ms ann extend limit=all; 200ms ann release",
		"300ms ann acquire id=x",
		"ann: RELEASED ann#2"},
	{"late, reentrant, after the lease that it shared was downgraded and released",
		"0s ann acquire id=x; 50ms ann acquire id=y reentrant; 100ms ann extend limit=all; " +
			"200ms ann release token=2; 200ms bob acquire",
		"300ms ann acquire id=y reentrant",
		"ann: RELEASED ann#2"},
	{"of a grant that is in doubt: it is known now",
		handedToBob + "150ms bob extend limit=2 from=bob2",
		"200ms node undeliverable token=2",
		"queue=1"},
	{"the next writer has a fence above both",
		"0s ann acquire; 0s bob acquire wait=1s; 100ms ann extend limit=all",
		"200ms ann release",
		`RELEASED ann#2[0]/all@2 1s former=1
		 ACQUIRED bob#3 1s
		 bob: GRANTED bob#3 1s/1s doubted
		 ann: RELEASED`},
}
