//go:build linux

package monitoring_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// cause is something that goes wrong.
type cause struct {
	// start starts nodes that are well, and returns where they are scraped and what goes wrong then: steps, each of
	// which is repeated until its alerts have fired.
	start func(t *testing.T) (targets []string, steps []func())
	// alerts are those of each step.
	alerts [][]string
	// native: histograms are scraped as native ones, and no classic ones.
	native bool
}

var causes = map[string]cause{
	"LostQuorum": {start: lostQuorum, alerts: [][]string{
		{"HoldfastNodeDown", "HoldfastShardWithoutOwner", "HoldfastShardStalled", "HoldfastRefusesRequests"}}},
	"Restarts":       {start: restarts, alerts: [][]string{{"HoldfastShardsMove"}}},
	"SlowDisk":       {start: slowDisk, alerts: [][]string{{"HoldfastCommitsAreSlow"}}},
	"SlowDiskNative": {start: slowDisk, alerts: [][]string{{"HoldfastCommitsAreSlow"}}, native: true},
	"FullDisk": {start: fullDisk, alerts: [][]string{
		{"HoldfastStorageFault", "HoldfastDiskNearlyFull", "HoldfastReplicasBehind"}}},
	"ClocksApart": {start: clocksApart, alerts: [][]string{{"HoldfastClocksApart"}}},
	"Unsynced":    {start: unsynced, alerts: [][]string{{"HoldfastDoesNotSync"}}},
	"OldKeys":     {start: endingCertificate, alerts: [][]string{{"HoldfastCertificateEnds"}}},
	"Clients":     {start: clients, alerts: [][]string{{"HoldfastRefusesRequests", "HoldfastLosesMessages"}}},
	"Tenant":      {start: tenant, alerts: [][]string{{"HoldfastTenantNearLimit", "HoldfastTenantRefused"}}},
	"FullStream":  {start: fullStream, alerts: [][]string{{"HoldfastEventsBehind"}, {"HoldfastEventsLost"}}},
	"LateTokens":  {start: lateTokens, alerts: [][]string{{"HoldfastTokensRunOut"}}},
}

// Each alert fires in a deployment in which its cause was made to happen, and no alert is active there before. The
// causes happen all at once, whatever -parallel is: they mostly wait.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rules.yml")
	write(t, file, hastened(read(t, rules)))
	var all sync.WaitGroup
	for name, c := range causes {
		all.Go(func() {
			t.Run(name, func(t *testing.T) { c.happens(t, file) })
		})
	}
	all.Wait()
}

// happens starts nodes, lets the cause happen, and waits for its alerts among these rules.
func (c cause) happens(t *testing.T, rules string) {
	t.Helper()
	targets, steps := c.start(t)
	p := startPrometheus(t, scraping{targets: map[string][]string{job: targets}, rules: rules, native: c.native})
	p.waitQuiet(len(targets))
	for i, alerts := range c.alerts {
		p.waitFiring(alerts, steps[i])
	}
}

// There is a cause for each alert that is shipped.
func TestAlertsHaveCauses(t *testing.T) {
	t.Parallel()
	var have, want []string
	for _, c := range causes {
		have = append(have, slices.Concat(c.alerts...)...)
	}
	for _, alert := range regexp.MustCompile(`- alert: (\w+)`).FindAllSubmatch(read(t, rules), -1) {
		want = append(want, string(alert[1]))
	}
	slices.Sort(have)
	slices.Sort(want)
	if have = slices.Compact(have); !slices.Equal(have, want) {
		t.Errorf("there are causes for the alerts %q, and the rules have %q", have, want)
	}
}

// hastened returns rules in which time passes 60 times as fast: each time in them is divided by 60, and nothing else is
// changed. So a test takes seconds where an alert takes minutes.
func hastened(rules []byte) []byte {
	times := regexp.MustCompile(`(for: |\[)(\d+[smh])\b`)
	return times.ReplaceAllFunc(rules, func(match []byte) []byte {
		parts := times.FindSubmatch(match)
		d, err := time.ParseDuration(string(parts[2]))
		if err != nil {
			panic(err) // the expression matches other texts than durations
		}
		return fmt.Appendf(nil, "%s%dms", parts[1], (d / 60).Milliseconds())
	})
}

// waitQuiet returns when Prometheus has scraped the targets and then evaluated all rules, and no alert is active.
func (p *prometheus) waitQuiet(targets int) {
	p.Helper()
	up := fmt.Sprintf("sum(up) == %d", targets)
	stand.Eventually(p, "the nodes are scraped", func() bool { return p.hasData(up) })
	began := time.Now()
	stand.Eventually(p, "no alert is active", func() bool {
		return !slices.ContainsFunc(p.rules(), func(r rule) bool {
			return !r.LastEvaluation.After(began) ||
				len(r.Alerts) > 0
		})
	})
}

// waitFiring repeats a step until each of the alerts has been firing.
func (p *prometheus) waitFiring(alerts []string, step func()) {
	p.Helper()
	missing := slices.Clone(alerts)
	stand.Eventually(p, fmt.Sprintf("%q are firing", alerts), func() bool {
		step()
		for _, r := range p.rules() {
			if r.isFiring() {
				missing = slices.DeleteFunc(missing, func(alert string) bool { return alert == r.Name })
			}
		}
		return len(missing) == 0
	})
}
