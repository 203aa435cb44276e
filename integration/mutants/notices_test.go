package mutants_test

func init() { mutants = append(mutants, notices...) }

var (
	// wants are of leases that others want, wanted of what a keep names of them.
	wants  = suite{folder: "actors/lease", run: "^TestNotices$"}
	wanted = suite{folder: "actors/lease", run: "^TestWantedIsNamedInTurn$"}
	// turns are those in which many notices go out.
	turns = suite{folder: "actors/lease", run: "^TestNoticesAreBounded$"}
	// ears are clients that hear notices, heard those by the wire, imports those in other accounts.
	ears    = suite{folder: "actors", run: "^Test(WhoGetsNoNotices|NoticeIsForTheTenant)$"}
	heard   = suite{folder: "integration/contract", run: "^TestNotices$"}
	imports = suite{folder: "integration/tenants", run: "^TestNotices$"}
	// shares are those of the shards in what a keep names.
	shares = suite{folder: "actors/node", run: "^TestSharesOfWanted$"}
)

// notices are mutants of notices, and of what keeps say that others want.
var notices = []mutant{
	{
		name:  "NoticeIsNotSent",
		harm:  "a holder that keeps its lease does not learn that others wait, and they wait for ever",
		edits: []edit{{"actors/links.go", ""}},
		found: heard,
		says:  `timeout`,
	},
	{
		name:  "RefusedTryMakesNoNotice",
		harm:  "a client that only tries never gets a lock that another one keeps",
		edits: []edit{{"actors/lease/member.go", "_ = h"}},
		found: wants,
		says:  `acquire: notices for "", want "1"`,
	},
	{
		name:  "LatestNoticeFirst",
		harm:  "while more leases are wanted than notices go out, who was asked first is not noticed",
		edits: []edit{{"actors/lease/wanted.go", "x.notice = w.fresh.PushFront(x)"}},
		found: turns,
		says:  `notices about`,
	},
	{
		name:  "NoticesWithoutARate",
		harm:  "clients that try often flood the holder with notices",
		edits: []edit{{"actors/lease/wanted.go", "if len(due) == limit {"}},
		found: wants,
		says:  `notices for "1 1`,
	},
	{
		name:  "ExtendedLeaseIsNoticedAnew",
		harm:  "each request about a wanted lease makes another notice",
		edits: []edit{{"actors/lease/sessions.go", "if true {"}},
		found: wants,
		says:  `notices for "1", want ""`,
	},
	{
		name: "NoticeForAnotherToken",
		harm: "a notice names no lease of its receiver, which ignores it",
		edits: []edit{{"actors/lease/wanted.go",
			"due = append(due, Notice{x.lease.resource, messages.Token(x.lease.token + 1)})"}},
		found: wants,
		says:  `notices for "2", want "1"`,
	},
	{
		name:  "KeepsNameTheSame",
		harm:  "a holder of many wanted leases learns of the first hundred only",
		edits: []edit{{"actors/lease/wanted.go", ""}},
		found: wanted,
		says:  `keep 1 names`,
	},
	{
		name:  "WantedWithoutTheSecret",
		harm:  "whoever knows the name of a session learns which locks it holds",
		edits: []edit{{"actors/sessions.go", "if e.Request.GetNotices() {"}},
		found: ears,
		says:  `wanted are \["r"\], want \[\]`,
	},
	{
		name:  "KeepWithoutTheSecretAsks",
		harm:  "whoever knows the name of a session takes its notices away",
		edits: []edit{{"actors/sessions.go", "if true {"}},
		found: ears,
		says:  `the notices are "", want "_INBOX.first: r#1 0"`,
	},
	{
		name:  "NoticeNamesTheTenant",
		harm:  "a notice shows a client in which account it is",
		edits: []edit{{"actors/links.go", "n.Resource = resource"}},
		found: ears,
		says:  `want one about r in`,
	},
	{
		name:  "NoticeIntoAnotherAccount",
		harm:  "a client has a node publish in the account of the nodes, where the client has no rights",
		edits: []edit{{"actors/node/transport.go", `if messages.IsImported("") {`}},
		found: imports,
		says:  `want INVALID`,
	},
	{
		name:  "WholeShareForEachShard",
		harm:  "the answer to a keep of all shards has more than it may, or what does not fit into it is never named",
		edits: []edit{{"actors/node/survey.go", "return max(share, messages.MaxWanted)"}},
		found: shares,
		says:  `shards may name \d+ resources, want 100`,
	},
	{
		name:  "SurveyForgetsTheShare",
		harm:  "a keep of all shards names nothing that is wanted at other nodes than the one that took it in",
		edits: []edit{{"actors/node/routing/envelope.go", ""}},
		found: envelopes,
		says:  `became`,
	},
	{
		name:  "FeatureOfSomeNodes",
		harm:  "a client counts on what the owner of its shard does not offer",
		edits: []edit{{"actors/node/info.go", "return a == nil"}},
		found: suite{folder: "actors/node", run: "^TestFeaturesOfNodes$"},
		says:  `offer \[tokens notices min_hold reshard ranking\], want`,
	},
}
