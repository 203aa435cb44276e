package linear_test

import (
	"errors"
	"testing"

	"github.com/holdfast-io/holdfast/integration/linear"
)

const (
	// worlds is how many are tried of each kind. A rare bug gets more, up to mostWorlds, until it was shown in a few.
	worlds, mostWorlds = 60, 600
	shown              = 2
)

func TestCleanWorldsPass(t *testing.T) {
	t.Parallel()
	var all linear.Counts
	for seed := range uint64(4 * worlds) {
		w := simulate(seed, none, 20)
		report, err := linear.Check(t.Context(), w.history, w.journal, nil, linear.Terms{Artifacts: t.ArtifactDir()})
		if err != nil {
			t.Fatalf("seed %d, %v: %v", seed, w, err)
		}
		all.Add(report.Counts)
	}
	t.Log(all)
	if all.Bounces == 0 || all.Unknown == 0 || all.Expiries == 0 || all.Breaks == 0 || all.Waited == 0 ||
		all.Late == 0 {
		t.Fatalf("the worlds are too quiet: %v", all)
	}
}

// Without a journal nothing settles what is unknown, so nothing is lost there, and no client vanishes.
func TestCleanWorldsPassWithoutAJournal(t *testing.T) {
	t.Parallel()
	for seed := range uint64(worlds) {
		w := simulate(seed, none, 0)
		if _, err := linear.Check(t.Context(), w.history, nil, nil, linear.Terms{}); err != nil {
			t.Fatalf("seed %d, %v: %v", seed, w, err)
		}
	}
}

func TestPlantedBugsAreFound(t *testing.T) {
	t.Parallel()
	for _, b := range []bug{
		tokenReused, ttlHalved, expiredEarly, grantedWhileHeld, grantedTwice, grantedAgain, answeredBeforeAppend,
		expiredExtended, extendForgotten, releaseForgotten, wrongTokenShown, falseNotOwner, brokeAnother,
		staleOwnerGoesOn,
		lateCopyGranted, releasedAnother, lateCounted,
	} {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			fired, found := 0, 0
			by := map[string]int{}
			for seed := uint64(0); seed < worlds || fired < shown && seed < mostWorlds; seed++ {
				w := simulate(seed, b, 20)
				report, err := linear.Check(t.Context(), w.history, w.journal, nil, linear.Terms{})
				switch {
				case w.fired == 0 && err != nil:
					t.Fatalf("seed %d: %v", seed, err)
				case w.fired == 0:
					continue
				case err != nil && !errors.Is(err, linear.ErrViolated):
					t.Fatal(err)
				case err != nil:
					found++
				}
				fired++
				seen := map[string]bool{}
				for _, v := range report.Violations {
					if !seen[v.Check] {
						seen[v.Check] = true
						by[v.Check]++
					}
				}
			}
			t.Logf("shown in %d worlds, found in %d, by %v", fired, found, by)
			if found == 0 || 10*found < 8*fired {
				t.Errorf("shown in %d worlds, and found in %d only", fired, found)
			}
			if by["model"] == 0 {
				t.Error("the model has found it in no world")
			}
		})
	}
}
