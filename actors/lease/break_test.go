package lease_test

var breakRows = []row{
	{"with the token",
		"0s ann acquire",
		"100ms op break token=1 why=stuck",
		`BROKEN ann#1 1s "stuck"; op: RELEASED`},
	{"with the token, while others wait",
		"0s ann acquire; 0s bob acquire wait=1s; 0s cid acquire wait=1s",
		"100ms op break token=1",
		`BROKEN ann#1 1s
		 ACQUIRED bob#2 1s
		 bob: GRANTED bob#2 1s/1s waiting=1 doubted
		 op: RELEASED waiting=1
		 queue=1`},
	{"with an older token",
		"0s ann acquire; 1s bob acquire",
		"1.1s op break token=1",
		"op: STALE_TOKEN bob#2 900ms/1s"},
	{"without a token",
		"0s ann acquire",
		"100ms op break",
		"op: STALE_TOKEN ann#1 900ms/1s"},
	{"never held",
		"",
		"0s op break token=1",
		"op: NOT_HELD"},
	{"never held, without a token",
		"",
		"0s op break",
		"op: NOT_HELD"},
	{"at the deadline",
		"0s ann acquire",
		"1s op break token=1",
		"EXPIRED ann#1 1s; op: NOT_HELD"},
	{"again",
		"0s ann acquire; 100ms op break token=1",
		"200ms op break token=1",
		"op: RELEASED"},
}
