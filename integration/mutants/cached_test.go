package mutants_test

func init() { mutants = append(mutants, cachedLeases...) }

// holdfast is tests of the Go client that need no service.
func holdfast(tests string) suite {
	return suite{module: "clients", folder: "holdfast", run: "^(" + tests + ")$"}
}

// cachedLeases are mutants of what the Go client makes of blocks of tokens, notices and the two holds.
var cachedLeases = []mutant{
	{
		name:  "TokenGivenTwice",
		harm:  "two uses of a cached lease have one token, so a delayed write of the first counts in the second",
		edits: []edit{{"clients/holdfast/internal/block/block.go", "return b.first + uint64(b.used)/2, true"}},
		found: holdfast("TestCachedLocksAreHeld"),
		says:  `is had twice`,
	},
	{
		name:  "TokenBeforeItsAnswer",
		harm:  "a use has a token that the service has not granted, and may grant to another client",
		edits: []edit{{"clients/holdfast/internal/block/block.go", "if b.used == 2*b.size {"}},
		found: holdfast("TestGrowthOfABlock"),
		says:  `the service has not granted`,
	},
	{
		name:  "FirstTokenForEachUse",
		harm:  "all uses of a cached lease show one token to the protected resource",
		edits: []edit{{"clients/holdfast/lock.go", "if false {"}},
		found: conforms("cached", "again"),
		says:  `fence: want "000000000000002", got "000000000000001"`,
	},
	{
		name:  "UseBehindTheEstimate",
		harm:  "a use begins when its lease is nearly over, and loses it at once",
		edits: []edit{{"clients/holdfast/cached.go", ""}},
		found: holdfast("TestUncertainLease"),
		says:  `after 22s`,
	},
	{
		name:  "SafeForEver",
		harm:  "a use begins on a lease that another process of the owner has shortened",
		edits: []edit{{"clients/holdfast/handle.go", "_ = c"}},
		found: holdfast("TestLeaseThatIsShortened"),
		says:  `is a use of a lease that may have ended soon`,
	},
	{
		name: "UseAfterTheReturn",
		harm: "a use begins when the release of its lease has been sent, beside the next holder's",
		edits: []edit{
			{"clients/holdfast/cached.go", "case e.state > over:"},
			{"clients/holdfast/cached.go", "e.in.of.entries.Add(0)"},
		},
		found: holdfast("TestReturnThatIsLost"),
		says:  `a call after the release was sent`,
	},
	{
		name:  "ReturnInTheMiddleOfAUse",
		harm:  "a lease that others want is released while it is used",
		edits: []edit{{"clients/holdfast/cached.go", "if e.h != nil {"}},
		found: conforms("cached", "wait-in-use"),
		says:  `"waiting":"cached.wait-in-use"|valid: want true`,
	},
	{
		name:  "ReturnNeedsAPlace",
		harm:  "a client whose background is full keeps its unused leases, and others wait until they run out",
		edits: []edit{{"clients/holdfast/cached.go", "e.h.letGo().later()"}},
		found: holdfast("TestReturnNeedsNoPlace"),
		says:  `another client waited for`,
	},
	{
		name:  "NoticeIgnored",
		harm:  "a cached lease that others wait for is retained until it was not used for its idle time",
		edits: []edit{{"clients/holdfast/handle.go", "return"}},
		found: conforms("cached", "wait"),
		says:  `no reply came`,
	},
	{
		name:  "ContentionForgotten",
		harm:  "a resource that several clients want again and again costs each of them a notice and a release more",
		edits: []edit{{"clients/holdfast/cache.go", "case false:"}},
		found: holdfast("TestContendedResource"),
		says:  `the resource is cached after it was wanted twice`,
	},
	{
		name:  "UseChangesTheLease",
		harm:  "one use of a cached lease changes the metadata that the next one has",
		edits: []edit{{"clients/holdfast/lock.go", "if false {"}},
		found: conforms("cached", "set"),
		says:  `want the error \{"code":"invalid"\}`,
	},
	{
		name:  "RestOfALateGrant",
		harm:  "a call that failed leaves its resource locked for the shortest hold",
		edits: []edit{{"clients/holdfast/acquire.go", "withdrawal.Token = uint64(messages.MaxToken)"}},
		found: conforms("hold", "withdrawn"),
		says:  `status: want "FREE", got "HELD_BACK"`,
	},
	{
		name:  "RestOfAnIncompleteSet",
		harm:  "a call that could not have all of its locks leaves some of them locked for the shortest hold",
		edits: []edit{{"clients/holdfast/handle.go", "r.requestID = \"\""}},
		found: suite{folder: "integration/client", run: "^TestAcquireAllOrNoneWithAShortestHold$"},
		says:  `is not free`,
	},
	{
		name:  "LongestHoldExceeded",
		harm:  "the service has a lock for longer than its longest hold, whose program may hang",
		edits: []edit{{"clients/holdfast/extensions.go", "if false {"}},
		found: holdfast("TestLongestHold"),
		says:  `the service holds the lease longer than that`,
	},
}
