package linear_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// wrong is a history that no lock has: two owners hold the resource.
var wrong = []line{acquire("a", 0, 1).granted(1), acquire("b", 500, 501).granted(2)}

func TestHistoryIsSavedAndRead(t *testing.T) {
	t.Parallel()
	h := history(wrong)
	var saved bytes.Buffer
	if err := h.Write(&saved); err != nil {
		t.Fatal(err)
	}
	read, err := linear.ReadHistory(&saved)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := read.Operations(), h.Operations(); !reflect.DeepEqual(got, want) {
		t.Errorf("read %d operations of %d, or others", len(got), len(want))
	}
	if !read.Began().Equal(h.Began()) {
		t.Errorf("began at %v, not %v", read.Began(), h.Began())
	}
}

func TestJournalIsSavedAndLoaded(t *testing.T) {
	t.Parallel()
	h, kept := history(wrong), heldMeanwhile()
	var saved, again bytes.Buffer
	if err := kept.Write(&saved); err != nil {
		t.Fatal(err)
	}
	j, err := linear.LoadJournal(bytes.NewReader(saved.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	first, _ := linear.Check(t.Context(), h, &kept.Journal, nil, linear.Terms{})
	second, _ := linear.Check(t.Context(), h, j, nil, linear.Terms{})
	if !reflect.DeepEqual(first, second) || len(first.Violations) == 0 {
		t.Errorf("loaded, it is judged otherwise: %v, not %v", second, first)
	}
	if j.Len() != kept.Len() || j.Write(&again) != nil {
		t.Errorf("%d records of %d", j.Len(), kept.Len())
	}
	for _, text := range []string{"0", "0 1 nothing", "0 1 {\"commit\":1}"} {
		if _, err := linear.LoadJournal(strings.NewReader(text)); err == nil {
			t.Errorf("%q: loaded", text)
		}
	}
}

// A long history of one resource stays within the default bounds, also under the race detector.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	var script []line
	for n := range 2_500 {
		at, owner := 40*n, string(rune('a'+n%5))
		script = append(script, acquire(owner, at, at+15).wait(1000).granted(uint64(n+1)),
			get(at+2, at+18).held(owner, uint64(n+1)), acquire("z", at+17, at+21).held(owner, uint64(n+1)),
			release(owner, at+22, at+45).released())
	}
	if _, err := linear.Check(t.Context(), history(script), nil, nil, linear.Terms{}); err != nil {
		t.Error(err)
	}
}

func TestHistoryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":          "",
		"no operation":   `{"began":"2026-01-01T00:00:00Z"}` + "\n{",
		"unknown status": `{"began":"2026-01-01T00:00:00Z"}` + "\n" + `{"status":"MAYBE"}`,
	} {
		if _, err := linear.ReadHistory(strings.NewReader(text)); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

func TestTooLittleIsVacuous(t *testing.T) {
	t.Parallel()
	script := history([]line{acquire("a", 0, 1).granted(1)})
	for name, f := range map[string]linear.Floors{
		"operations": {Operations: 2}, "grants": {Grants: 2}, "another owner": {HandOffs: 1}, "queue": {Waited: 1},
		"extensions": {Extensions: 1}, "releases": {Releases: 1}, "breaks": {Breaks: 1}, "expiries": {Expiries: 1},
		"events": {Events: 1},
	} {
		_, err := linear.Check(t.Context(), script, nil, nil, linear.Terms{Floors: f})
		if !errors.Is(err, linear.ErrViolated) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := linear.Check(t.Context(), script, nil, nil,
		linear.Terms{Floors: linear.Floors{Operations: 1, Grants: 1}}); err != nil {
		t.Error(err)
	}
}

func TestGivingUpIsNoPass(t *testing.T) {
	t.Parallel()
	var script []line
	for n := range 100 {
		script = append(script, acquire("a", 20*n, 20*n+5).granted(uint64(n+1)), get(20*n+1, 20*n+6).held("a", uint64(n+1)),
			release("a", 20*n+10, 20*n+15).released())
	}
	legal := history(script)
	for name, b := range map[string]linear.Bounds{
		"MB": {Bytes: 1000}, "after 1ns": {Time: 1}, "shorter histories": {Operations: 10},
	} {
		_, err := linear.Check(t.Context(), legal, nil, nil, linear.Terms{Bounds: b})
		if !errors.Is(err, linear.ErrViolated) || !strings.Contains(err.Error(), "not checked") ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestArtifactsAreKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "down")
	report, err := linear.Check(t.Context(), history(wrong), &heldMeanwhile().Journal, nil, linear.Terms{Artifacts: dir})
	if err == nil || report.Kept != dir || len(report.Pictures) != 1 || !strings.Contains(err.Error(), dir) {
		t.Fatalf("kept in %q, pictures %q: %v", report.Kept, report.Pictures, err)
	}
	for _, name := range []string{"history.jsonl", "journal.txt", "violations.txt", "model-1.html"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(data) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}

func TestNothingIsKeptOfWhatIsRight(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := linear.Check(t.Context(), history(nil), nil, nil, linear.Terms{Artifacts: dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is %s: %v", dir, err)
	}
}

// What was decided by arithmetic alone is found by it: the model would find these too.
func TestArithmetic(t *testing.T) {
	t.Parallel()
	for check, script := range map[string][]line{
		"windows": wrong,
		"tokens":  {acquire("a", 0, 1).granted(5), release("a", 2, 3).released(), acquire("b", 4, 5).granted(4)},
	} {
		report, _ := linear.Check(t.Context(), history(script), nil, nil, linear.Terms{})
		found := false
		for _, v := range report.Violations {
			found = found || v.Check == check
		}
		if !found {
			t.Errorf("%s: %v", check, report.Violations)
		}
	}
}

// An owner that was deposed and does not know may give ephemeral leases out; what must still hold is that
// no token is two owners'.
func TestEphemeralLeasesWhoseShardMoved(t *testing.T) {
	t.Parallel()
	moved := new(book)
	moved.put(&journal.Commit{Opened: true, Epoch: 1, AtMs: 1 << 50})
	two := []line{acquire("a", 0, 1).ephemeral().granted(1), acquire("b", 2, 3).ephemeral().granted(1001)}
	if _, err := linear.Check(t.Context(), history(two), &moved.Journal, nil, linear.Terms{}); err != nil {
		t.Error(err)
	}
	same := []line{acquire("a", 0, 1).ephemeral().granted(1), acquire("b", 2, 3).ephemeral().granted(1)}
	if _, err := linear.Check(t.Context(), history(same), &moved.Journal, nil, linear.Terms{}); !errors.Is(err, linear.ErrViolated) {
		t.Errorf("one token, two owners: %v", err)
	}
}
