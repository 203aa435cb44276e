package main_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/holdfast-io/holdfast/cmd/holdfast/doctor"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// diagnosis is what the doctor prints as JSON.
type diagnosis struct {
	Checks             []doctor.Result
	Problems, Warnings int
	result             result
}

// examine runs the doctor on the deployment at a URL. Nothing is slow for it, because a machine that is busy with tests
// may be.
func examine(t *testing.T, url string, args ...string) *diagnosis {
	t.Helper()
	d := &diagnosis{result: run(t, append([]string{"doctor", "--json", "--slow", "1m", "--server", url}, args...)...)}
	if err := json.Unmarshal([]byte(d.result.stdout), d); err != nil || d.result.stderr != "" {
		t.Fatalf("holdfast %q: %v\nstdout: %s\nstderr: %s", d.result.args, err, d.result.stdout, d.result.stderr)
	}
	return d
}

// examineUntil runs the doctor until its diagnosis is the expected one, and returns that.
func examineUntil(t *testing.T, what, url string, is func(*diagnosis) bool) (d *diagnosis) {
	t.Helper()
	stand.Eventually(t, what, func() bool {
		d = examine(t, url)
		return is(d)
	})
	return d
}

// isFine reports whether there is no finding.
func (d *diagnosis) isFine() bool { return d.result.code == 0 }

func (d *diagnosis) check(t *testing.T, name string) doctor.Result {
	t.Helper()
	for _, r := range d.Checks {
		if r.Check == name {
			return r
		}
	}
	t.Fatalf("there is no check %s: %s", name, d.result.stdout)
	return doctor.Result{}
}

// has reports whether a check has a finding that matches.
func (d *diagnosis) has(t *testing.T, check string, state doctor.State, what string) bool {
	t.Helper()
	for _, f := range d.check(t, check).Findings {
		if f.State == state && regexp.MustCompile(what).MatchString(f.What) {
			return d.result.code == 3 && f.Why != "" && f.Do != ""
		}
	}
	return false
}

// want fails the test unless a check has a finding that matches.
func (d *diagnosis) want(t *testing.T, check string, state doctor.State, what string) {
	t.Helper()
	if !d.has(t, check, state, what) {
		t.Errorf("no %s of %s matches %q, exit code %d: %s", state, check, what, d.result.code, d.result.stdout)
	}
}

// wantOnly also fails the test if there is another finding.
func (d *diagnosis) wantOnly(t *testing.T, check string, state doctor.State, what string) {
	t.Helper()
	d.want(t, check, state, what)
	if d.Problems+d.Warnings != 1 {
		t.Errorf("%d problems and %d warnings, wanted one finding: %s", d.Problems, d.Warnings, d.result.stdout)
	}
}

// wantHealthy fails the test if there is a finding, or something is not visible.
func (d *diagnosis) wantHealthy(t *testing.T) {
	t.Helper()
	for _, r := range d.Checks {
		if r.State != doctor.OK || r.Text == "" || r.Needs != "" {
			t.Errorf("%+v", r)
		}
	}
	if d.result.code != 0 || d.Problems+d.Warnings != 0 || len(d.Checks) != 13 {
		t.Errorf("exit code %d, %d checks: %s", d.result.code, len(d.Checks), d.result.stdout)
	}
}

func TestDoctorOfOneNode(t *testing.T) {
	t.Parallel()
	p := serve(t, "--shards", "3")
	p.holdfast(t, "acquire", "orders.42", "--owner", "me").want(t, 0, `token 1`)
	examine(t, p.url).wantHealthy(t)
	p.holdfast(t, "get", "holdfast-doctor.0").want(t, 0, `no token yet$`)
	text := p.holdfast(t, "doctor", "--slow", "1m")
	if text.code != 0 || !regexp.MustCompile(
		`(?m)^ok +commits +3 shards, the slowest confirms on disk within [^\n]+$`).MatchString(text.stdout) ||
		!regexp.MustCompile(`\n0 problems, 0 warnings\n$`).MatchString(text.stdout) {
		t.Errorf("exit code %d: %s", text.code, text.stdout)
	}
}

// Nothing answers: that is a finding, within the bound of the command.
func TestDoctorWithoutDeployment(t *testing.T) {
	t.Parallel()
	examine(t, "nats://127.0.0.1:1", "--timeout", "200ms").wantOnly(t, "connection", doctor.Problem,
		`^no NATS server answers at `)
	server := stand.StartNATS(t, embedded.Config{ConfigFile: stand.NATSConfig(t,
		`authorization { user: a, password: b }`)})
	examine(t, server.ClientURL(), "--timeout", "10s").wantOnly(t, "connection", doctor.Problem,
		`does not permit this user`)
	server = stand.StartNATS(t, embedded.Config{})
	d := examine(t, server.ClientURL())
	d.wantOnly(t, "shards", doctor.Problem, `^no node answers: holdfast\.info has no subscriber$`)
	if commits := d.check(t, "commits"); commits.State != doctor.NotVisible || commits.Needs == "" {
		t.Errorf("%+v", commits)
	}
	if text := run(t, "doctor", "--server", server.ClientURL()).stdout; !regexp.MustCompile(
		`(?m)^problem      shards       no node answers: .*\n               because    no lock can .*\n               do         start a node with holdfast serve`).MatchString(text) {
		t.Errorf("%s", text)
	}
	run(t, "doctor", "--slow", "0").want(t, 2, `slow`)
}
