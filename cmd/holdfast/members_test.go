package main_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// TestMemberIsRemoved while its cluster is in use: what it kept is copied to the others, and it counts no more
// when a majority is asked for.
func TestMemberIsRemoved(t *testing.T) {
	t.Parallel()
	c := operated{t, stand.StartMembers(t, 5, "--shards", "3")}
	url := c.All[0].URL
	run(t, "acquire", "orders.42", "--owner", "me", "--ttl", "10m", "--server", url).want(t, 0, "token 1")
	stop := growthLoad(t, url)
	c.shows(`^n\d +leads +\d +0$`)
	c.shows(`^n5 +(here|leads) +\d +0$`)
	c.members("remove", "n5").want(t, 5, "n5 was there .* ago; stop it first")
	c.members("remove", "n6").want(t, 2, `no such member: "n6"; the members are n1, n2, n3, n4, n5`)
	for _, member := range []*stand.Member{c.All[4], c.All[3]} {
		member.Stop()
		c.shows("^" + member.Name + " +away ")
		c.removes(member.Name)
	}
	stop()
	c.All[2].Kill()
	c.shows("^n3 +away ")
	c.members("remove", "n3").want(t, 5, "is kept by 3 members, and 2 would be left; add another one first")
	run(t, "get", "orders.42", "--server", url, "--timeout", "30s").want(t, 0, `^held: orders.42 by "me", token 1`)
	if strings.Contains(c.All[0].Written(), "level=ERROR") {
		t.Errorf("n1 complains:\n%s", c.All[0].Written())
	}
}

// A member that was removed, and is started again under its name before that may return, is not ready and says why.
func TestRemovedMemberIsNotReady(t *testing.T) {
	t.Parallel()
	c := operated{t, stand.StartMembers(t, 4, "--shards", "2")}
	removed := c.All[3]
	removed.Stop()
	c.shows("^n4 +away ")
	c.removes("n4")
	for _, name := range []string{"with its data", "without data"} {
		removed.Start()
		removed.WaitLog("the cluster does not count this server as a member")
		if strings.Contains(removed.Written(), "Holdfast is ready") {
			t.Errorf("%s: it is ready", name)
		}
		removed.Kill()
		stand.Must(t, os.RemoveAll(removed.Data))
	}
}

// A member that was killed has nothing to warn of when it is back.
func TestKilledMemberIsQuiet(t *testing.T) {
	t.Parallel()
	all := stand.StartMembers(t, 3, "--shards", "2").All
	killed := all[0]
	killed.Stop() // which leaves an index that the kill makes outdated
	killed.Restart()
	for i := range 20 {
		run(t, "acquire", fmt.Sprint("orders.", i), "--owner", "me", "--ttl", "10m", "--server", all[1].URL,
			"--timeout", "30s").want(t, 0, "token 1")
	}
	killed.Kill()
	killed.Restart()
	for line := range strings.Lines(killed.Written()) {
		if strings.Contains(line, "level=WARN") && strings.Contains(line, "from=nats-server") {
			t.Errorf("n1 says: %s", line)
		}
	}
}

// TestMemberIsReplaced by one of another name, after which the cluster does without any one again.
func TestMemberIsReplaced(t *testing.T) {
	t.Parallel()
	c := operated{t, stand.NewMembers(t, 4, "--shards", "2")}
	for _, member := range c.All[:3] {
		member.KnowsFirst(3)
		member.Start()
	}
	for _, member := range c.All[:3] {
		member.WaitReady()
	}
	url := c.All[1].URL
	run(t, "acquire", "orders.42", "--owner", "me", "--ttl", "10m", "--server", url).want(t, 0, "token 1")
	stop := growthLoad(t, url)
	c.All[2].Kill()
	c.All[3].Restart()
	c.shows("^n4 +(here|leads) ")
	c.shows("^n3 +away ")
	c.removes("n3")
	stop()
	c.All[0].Kill()
	run(t, "get", "orders.42", "--server", url, "--timeout", "30s").want(t, 0, `^held: orders.42 by "me", token 1`)
	run(t, "acquire", "orders.43", "--server", c.All[3].URL, "--timeout", "30s").want(t, 0, "token 1")
}

// operated is a cluster as its operator has it in hand.
type operated struct {
	*testing.T
	*stand.Members
}

func (c operated) members(args ...string) result {
	c.Helper()
	return run(c.T, append(append([]string{"members"}, args...), "--routes", c.Routes(), "--timeout", "30s")...)
}

// shows waits until a line matches the pattern.
func (c operated) shows(pattern string) {
	c.Helper()
	line := regexp.MustCompile("(?m)" + pattern)
	stand.Eventually(c.T, "members shows "+pattern, func() bool {
		r := c.members()
		shown := r.code == 0 && line.MatchString(r.stdout)
		if !shown {
			c.Logf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
		}
		return shown
	})
}

func (c operated) removes(name string) {
	c.Helper()
	r := c.members("remove", name)
	if r.code != 0 || !regexp.MustCompile(`^removed `+name+`\n(.*\n)*every stream has all its replicas\n$`).MatchString(
		r.stdout) {
		c.Fatalf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
}

// TestMembersOfNoCluster cannot be asked, and the command says what is wrong with the question.
func TestMembersOfNoCluster(t *testing.T) {
	t.Parallel()
	nobody := porttest.Free(t, 1)[0]
	run(t, "members").want(t, 2, "--routes is required.*holdfast members --routes 127.0.0.1:6222")
	run(t, "members", "--routes", "n1").want(t, 2, `route "n1" is not HOST:PORT`)
	run(t, "members", "--routes", nobody, "--prefix", "a b").want(t, 2, `--prefix: .*got "a b"`)
	run(t, "members", "--routes", nobody, "--timeout", "100ms").want(t, 5,
		`no member of the cluster "holdfast" answers at `+nobody)
	run(t, "members", "forget", "n3", "--routes", nobody).want(t, 2, `unknown command "forget"`)
	run(t, "members", "remove", "--routes", nobody).want(t, 2, "name one member, as in: holdfast members remove n3")
	run(t, "members", "remove", "n3", "n4", "--routes", nobody).want(t, 2, "name one member")
}
