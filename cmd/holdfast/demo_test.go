package main_test

import (
	"os"
	"regexp"
	"testing"
)

// TestDemoFencing runs the story for newcomers. It checks by itself that the data are wrong
// without the guard, right with it, and wrong with a guard whose mark nobody raises before reading.
func TestDemoFencing(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	r := runWith(t, []string{"TMPDIR=" + tmp}, "demo", "fencing", "--ttl", "3s")
	if r.code != 0 || r.stderr != "" {
		t.Fatalf("exit code %d: %s\n%s", r.code, r.stderr, r.stdout)
	}
	for _, line := range []string{
		`without a guard +35 +70 +wrong by 5\n`,
		`with the guard +35 +65 +right\n`,
		`without the raise +35 +95 +wrong by 30\n`,
		`Refused: "stock": stale fencing token: 000000000000003, after 000000000000004 was seen\n`,
	} {
		if !regexp.MustCompile(line).MatchString(r.stdout) {
			t.Errorf("the story lacks /%s/:\n%s", line, r.stdout)
		}
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("it leaves %v behind, %v", left, err)
	}
}
