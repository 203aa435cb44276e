package page

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/doctor"
)

const (
	// checkTimeout bounds each check of the deployment, slowAnswer is from when an answer of a node is slow; as those of
	// holdfast doctor, but for the time that a person waits.
	checkTimeout, slowAnswer = 5 * time.Second, 500 * time.Millisecond
	// runbooks is where the documentation says what to do.
	runbooks = "https://github.com/holdfast-io/holdfast/blob/main/docs/runbooks.md#"
)

// look checks the deployment with the words of holdfast doctor.
func (d *deployment) look(ctx context.Context) (*doctor.Survey, error) {
	s := doctor.Look(ctx, d.caller, doctor.Config{
		Conn: d.nc, Prefix: d.prefix, Timeout: checkTimeout, Slow: slowAnswer, Lost: d.chronicle.lost(),
	})
	return s, ctx.Err()
}

// health is what is wrong with a deployment.
type health struct {
	// Problems and Warnings have the findings, alike ones together.
	Problems, Warnings []finding
	// Unseen says what the user of the node may not see.
	Unseen []string
}

// finding is a finding of the doctor as the view shows it.
type finding struct {
	doctor.Finding
	// Alike is how many more findings have the same reason.
	Alike int
}

// Runbook returns where the runbook for the alert of the same state is; empty: there is none.
func (f finding) Runbook() string {
	if f.Alert == "" {
		return ""
	}
	return runbooks + strings.ToLower(f.Alert)
}

func healthOf(s *doctor.Survey) (h health) {
	for _, r := range s.Results {
		if r.Needs != "" && s.Info != nil {
			h.Unseen = append(h.Unseen, r.Check+": needs "+r.Needs)
		}
		for _, f := range r.Findings {
			if f.State == doctor.Problem {
				h.Problems = addFinding(h.Problems, f)
			} else {
				h.Warnings = addFinding(h.Warnings, f)
			}
		}
	}
	return h
}

// addFinding adds a finding, or counts it if one with the same reason is there: the replica of each shard is away when a
// server is.
func addFinding(all []finding, f doctor.Finding) []finding {
	i := slices.IndexFunc(all, func(other finding) bool {
		return f.Alert != "" && other.Alert == f.Alert && other.Why == f.Why && other.Do == f.Do
	})
	if i < 0 {
		return append(all, finding{Finding: f})
	}
	all[i].Alike++
	return all
}

// Level is how well it is: well, warned or ill. The class of the style has the same name.
func (h health) Level() string {
	switch {
	case len(h.Problems) > 0:
		return "ill"
	case len(h.Warnings) > 0:
		return "warned"
	}
	return "well"
}

// Sign is the level as a character, beside the colour.
func (h health) Sign() string {
	return cmp.Or(map[string]string{"ill": "✕", "warned": "!"}[h.Level()], "✓")
}

// Sentence says how well it is.
func (h health) Sentence() string {
	problems := plural(len(h.Problems), "problem", "problems")
	warnings := plural(len(h.Warnings), "warning", "warnings")
	switch {
	case len(h.Problems) > 0 && len(h.Warnings) > 0:
		return problems + " and " + warnings + "."
	case len(h.Problems) > 0:
		return problems + "."
	case len(h.Warnings) > 0:
		return "It works, with " + warnings + "."
	}
	return "All is well."
}

// Findings returns all of them, problems first.
func (h health) Findings() []finding { return slices.Concat(h.Problems, h.Warnings) }
