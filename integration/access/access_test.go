package access

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// patience bounds every wait. Nothing is measured by it.
const patience = time.Minute

// password is that of all users.
const password = "pw"

func TestMain(m *testing.M) { os.Exit(stand.Main(m)) }

var variable = regexp.MustCompile(`\$(\w+_PASSWORD)`)

// printed returns what holdfast access prints. The passwords are defined in front of a configuration, as NATS allows
// it.
func printed(tb testing.TB, args ...string) string {
	tb.Helper()
	out, errs, code := run(tb, nil, append([]string{"access"}, args...)...)
	if code != 0 {
		tb.Fatalf("access %q: exit code %d: %s", args, code, errs)
	}
	defined := make(map[string]bool)
	var b strings.Builder
	for _, found := range variable.FindAllStringSubmatch(out, -1) {
		if !defined[found[1]] {
			defined[found[1]] = true
			fmt.Fprintf(&b, "%s: %q\n", found[1], password)
		}
	}
	return b.String() + out
}

// run runs the binary and returns what it wrote and its exit code.
func run(tb testing.TB, env []string, args ...string) (stdout, stderr string, code int) {
	tb.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(tb.Context(), stand.Binary(tb), args...)
	cmd.Env = append([]string{"HOME=" + tb.TempDir(), "PATH=" + os.Getenv("PATH")}, env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the code has it
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// deployment is nodes on a NATS server outside of them.
type deployment struct {
	testing.TB
	nats *stand.NATS
	// said has what the NATS server logs.
	said    *stand.Lines
	shards  uint32
	tenants map[string]node.TenantLimits
}

// deploy starts NATS on a configuration, and that many nodes of a deployment with these shards on it, which serve the
// tenants.
func deploy(tb testing.TB, conf string, shards uint32, nodes int, tenants ...string) *deployment {
	tb.Helper()
	d := &deployment{TB: tb, said: &stand.Lines{}, shards: shards}
	for _, tenant := range tenants {
		if d.tenants == nil {
			d.tenants = make(map[string]node.TenantLimits)
		}
		d.tenants[tenant] = node.TenantLimits{}
	}
	d.nats = stand.StartNATS(tb, embedded.Config{ConfigFile: stand.NATSConfig(tb, conf),
		Log: slog.New(slog.NewTextHandler(d.said, nil))})
	for i := range nodes {
		d.node(fmt.Sprint("n", i+1))
	}
	return d
}

func (d *deployment) node(name string) *server.Server {
	d.Helper()
	s, err := server.Start(d.Context(), server.Config{
		Config:    node.Config{Name: name, Shards: d.shards, Tenants: d.tenants, Log: slog.New(slog.DiscardHandler)},
		Retention: time.Hour, NATS: &nats.Options{Url: d.nats.ClientURL()},
		Login: []nats.Option{nats.UserInfo("holdfast", password)},
	})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = s.Stop() })
	return s
}

// connect logs a user in, with its own inbox prefix.
func (d *deployment) connect(user string) *nats.Conn {
	d.Helper()
	return stand.Dial(d, d.nats.ClientURL(), nats.UserInfo(user, password), nats.CustomInboxPrefix("_INBOX."+user))
}

// command runs the binary as a user, with its own inbox prefix, and returns what compares its exit code and what it
// says.
func (d *deployment) command(user string, args ...string) (want func(code int, says string)) {
	d.Helper()
	login := []string{"NATS_URL=" + d.nats.ClientURL(), "NATS_USER=" + user, "NATS_PASSWORD=" + password,
		"NATS_TIMEOUT=5s"}
	out, errs, got := run(d, login, append([]string{args[0], "--inbox-prefix", "_INBOX." + user}, args[1:]...)...)
	return func(code int, says string) {
		d.Helper()
		if got != code || !regexp.MustCompile(says).MatchString(out+errs) {
			d.Errorf("%s %q: exit code %d, %s%s", user, args, got, out, errs)
		}
	}
}

// wantNoViolation fails the test if NATS has refused something to a user.
func (d *deployment) wantNoViolation(user string) {
	d.Helper()
	for line := range strings.Lines(d.said.String()) {
		if isViolation(line, user) {
			d.Errorf("%s was refused something: %s", user, line)
		}
	}
}

// violations counts what NATS has refused to a user.
func (d *deployment) violations(user string) (n int) {
	for line := range strings.Lines(d.said.String()) {
		if isViolation(line, user) {
			n++
		}
	}
	return n
}

func isViolation(line, user string) bool {
	return strings.Contains(line, "Violation") && strings.Contains(line, "/user:"+user)
}
