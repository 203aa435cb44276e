package mutants_test

func init() {
	mutants = append(mutants, java...)
	languages["java"] = language{
		folder: "clients/java",
		// It has the modules that others have made.
		linked: "conformance",
		left:   []string{"holdfast-bom", "holdfast-junit", "holdfast-shedlock", "holdfast-spring"},
		build: "javac -nowarn -d classes -cp 'conformance/target/lib/*' " +
			"$(find holdfast-client/src/main/java -name '*.java' ! -name module-info.java)",
		driver: "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp COPY/classes:COPY/conformance/target/lib/* " +
			"io.github.holdfastio.conformance.Driver",
		tests: `mvn -q -o -B test -f holdfast-client -Dtest="$1#$2"`,
	}
}

// javaTests are tests of one class that need no service.
func javaTests(class, tests string) suite { return suite{client: "java", folder: class, run: tests} }

// javaCases are conformance cases of one file, run with the Java client.
func javaCases(file, cases string) suite {
	return suite{client: "java", run: "^" + file + "$/^(" + cases + ")$"}
}

const (
	javaParts = "clients/java/holdfast-client/src/main/java/io/github/holdfastio/holdfast/internal/"
	javaFence = "clients/java/holdfast-client/src/main/java/io/github/holdfastio/holdfast/fence/"
)

// java are mutants of the Java client, found by the conformance cases.
var java = []mutant{
	{
		name:  "JavaLeaseOutlivesItsTTL",
		harm:  "a client takes a lock for held when the service has granted it to the next one",
		edits: []edit{{javaParts + "Estimate.java", "until = sent + Math.min(remaining, ttl) + ttl;"}},
		found: javaCases("lost", "not-renewed"),
		says:  `was taken for held`,
	},
	{
		name: "JavaLeaseCountsFromTheAnswer",
		harm: "a lease counts from the answer, so a client takes a grant for a lock when its lease is over",
		edits: []edit{{
			javaParts + "Sender.java",
			"Answer answer = new Answer(id, Clock.now(), route.direct(), reply);",
		}},
		found: javaCases("faults", "grant-too-late"),
		says:  `token: want "2", got "1"`,
	},
	{
		name: "JavaForgedAnswerIsTaken",
		harm: "who can publish to the inbox of a client makes it believe in a lock",
		edits: []edit{{
			javaParts + "Sender.java",
			"if (route.operation().isEmpty() && !answer.isAbout(route.key(), owner)) {",
		}},
		found: javaCases("forged", "acquire-resource"),
		says:  `fence: want "000000000000001", got "000000000000099"`,
	},
	{
		name:  "JavaNothingIsRenewed",
		harm:  "locks are lost while their holders work",
		edits: []edit{{javaParts + "Renewal.java", "lineUp(sent + Clock.NEVER);"}},
		found: javaCases("lost", "renewed"),
		says:  `status: want "TIMEOUT", got "GRANTED"`,
	},
	{
		name:  "JavaWaitCountedAnew",
		harm:  "each attempt waits for the whole time again, and a caller gets a lock that it does not wait for any more",
		edits: []edit{{javaParts + "Acquisition.java", "long left = terms.waiting();"}},
		found: javaCases("faults", "wait-is-not-counted-anew"),
		says:  `want the error \{"code":"timed_out"\}, got`,
	},
	{
		name:  "JavaNewRequestEachTime",
		harm:  "a repeated acquire is another request, which takes another permit",
		edits: []edit{{javaParts + "Acquisition.java", `.with("request_id", newId())`}},
		found: javaCases("sharing", "answer-lost"),
		says:  `token: want "1", got "2"`,
	},
	{
		name:  "JavaSecondGrantGivenBack",
		harm:  "a late answer to an earlier attempt releases the lock that is held",
		edits: []edit{{javaParts + "Handles.java", `if (!lease.text("owner").equals(core.owner)) {`}},
		found: javaCases("faults", "grant-twice"),
		says:  `held: want true, got false|it is not held any more`,
	},
	{
		name:  "JavaCancelLeavesTheRequest",
		harm:  "a call that was cancelled waits on, and its lock is held by nothing when it is granted",
		edits: []edit{{javaParts + "Acquisition.java", "if (!id.isEmpty()) {"}},
		found: javaCases("queue", "cancelled"),
		says:  `"until":\{"waiting":"queue.cancelled","count":0\}`,
	},
	{
		name:  "JavaForeignHolderIsNoLoss",
		harm:  "a client receives the answer that another owner has its lock, and goes on until its lease would be over",
		edits: []edit{{javaParts + "Failures.java", `return a.is("NOT_HELD", "EXPIRED", "STALE_TOKEN");`}},
		found: javaCases("lost", "broken-and-taken"),
		says:  `reason: want "not_owner", got "deadline"`,
	},
	{
		name:  "JavaUnknownIsTakenForNoEffect",
		harm:  "a call that may have had its effect is reported as one that had none",
		edits: []edit{{javaParts + "Exchange.java", "return !unsure;"}},
		found: javaCases("restart", "paused"),
		says:  `code: want "unknown", got "unavailable"`,
	},
	{
		name:  "JavaNoNodeIsFinal",
		harm:  "calls fail while no node runs, instead of waiting for one",
		edits: []edit{{javaParts + "Exchange.java", "return false;"}},
		found: javaCases("errors", "no-node"),
		says:  `code: want "unavailable", got "unknown"`,
	},
	{
		name:  "JavaTokenGivenTwice",
		harm:  "two uses of a cached lease have one token, so a delayed write of the first counts in the second",
		edits: []edit{{javaParts + "CachedLease.java", "next += 0;"}},
		found: javaCases("cached", "again"),
		says:  `fence: want "000000000000002", got "000000000000001"`,
	},
	{
		name:  "JavaClosingLeaseIsUsed",
		harm:  "a client keeps a cached lock from others for as long as it has calls of its own",
		edits: []edit{{javaParts + "CachedLease.java", "open = open && use != null;"}},
		found: javaCases("cached", "closing"),
		says:  `FAIL: .*/cached/closing`,
	},
	{
		name: "JavaNoticeOfAnyLease",
		harm: "a notice about one lock has another one given back",
		edits: []edit{{
			javaParts + "Handles.java",
			"Handle handle = held.values().stream().filter(h -> !h.id().equals(idOf(notice))).findAny().orElse(null);",
		}},
		found: javaCases("notices", "two"),
		says:  `want the error \{"code":"cancelled"\}`,
	},
	{
		name:  "JavaLongestHoldExceeded",
		harm:  "the service has a lock for longer than its longest hold, whose program may hang",
		edits: []edit{{javaParts + "Extensions.java", "long left = Clock.NEVER;"}},
		found: javaCases("hold", "longest-extended"),
		says:  `FAIL: .*/hold/longest-extended`,
	},
	{
		name:  "JavaFenceWithoutZeros",
		harm:  "stores that compare fences as text accept a stale holder",
		edits: []edit{{javaFence + "Fence.java", "return digits;"}},
		found: javaCases("acquire", "fence"),
		says:  `fence: want "000000000000001", got "1"`,
	},
}
