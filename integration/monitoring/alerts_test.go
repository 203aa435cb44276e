package monitoring_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// rules are the alerts that are shipped.
const rules = "../../deploy/prometheus/holdfast.rules.yml"

// rule is an alert that Prometheus has loaded.
type rule struct {
	Name, Query, Health string
	LastEvaluation      time.Time
	Alerts              []active
}

// active is an alert that is pending or firing, for some labels.
type active struct{ State string }

// isFiring reports whether the alert fires, for any of its labels.
func (r *rule) isFiring() bool {
	return slices.ContainsFunc(r.Alerts, func(a active) bool { return a.State == "firing" })
}

// rules returns the alerts once all of them have been evaluated.
func (p *prometheus) rules() (all []rule) {
	p.Helper()
	stand.Eventually(p, "Prometheus has evaluated its rules", func() bool {
		var loaded struct{ Groups []struct{ Rules []rule } }
		p.ask("rules", nil, &loaded)
		if len(loaded.Groups) != 1 {
			return false
		}
		all = loaded.Groups[0].Rules
		for _, r := range all {
			if r.Health != "ok" {
				return false
			}
		}
		return true
	})
	return all
}

// The alerts are raised when they should be, and only then, on series that a file describes.
func TestAlertsAreRaised(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"check", "rules", rules},
		{"test", "rules", strings.Replace(rules, ".yml", ".test.yml", 1)}} {
		out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput()
		if err != nil {
			t.Errorf("promtool %q: %v (make servers installs it)\n%s", args, err, out)
		}
	}
}

// What each alert compares has a value on nodes that are well.
func (p *prometheus) wantRules() {
	p.Helper()
	comparison := regexp.MustCompile(` [<>] [0-9.]+$`)
	for _, rule := range p.rules() {
		if !comparison.MatchString(rule.Query) {
			p.Errorf("%s: %s does not end with a comparison", rule.Name, rule.Query)
		}
		compared := comparison.ReplaceAllString(rule.Query, "")
		stand.Eventually(p, rule.Name+" has a value", func() bool { return p.hasData(compared) })
	}
}
