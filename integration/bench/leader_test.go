package bench

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// BenchmarkLeaderKilled kills the process of a leader and reports how long it takes until the next candidate leads:
// with the session's option for clients that are not connected, and without it, by the TTL of the lease alone. Run it
// with -benchtime=5x.
func BenchmarkLeaderKilled(b *testing.B) {
	for name, args := range map[string][]string{"disconnect=5s": {"--disconnect", "5s"}, "ttl=15s": {"--ttl", "15s"}} {
		b.Run(name, func(b *testing.B) {
			m := stand.StartAlone(b)
			c := stand.Client(b, stand.Dial(b, m.URL))
			var took series
			for b.Loop() {
				took.add(float64(succession(b, m.URL, c, args).Milliseconds()))
			}
			b.ReportMetric(took.median(), "ms-median")
			b.ReportMetric(took.most(), "ms-worst")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// succession returns the time from the kill of the leader to the term of the next.
func succession(b *testing.B, url string, c *holdfast.Client, args []string) time.Duration {
	b.Helper()
	leader := exec.Command(stand.Binary(b), append(append([]string{"elect", "scheduler", "--server", url}, args...),
		"-c", "echo leads; exec sleep 600")...)
	out, err := leader.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := leader.Start(); err != nil {
		b.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "leads") {
		b.Fatal(line, err)
	}
	<-time.After(quietFor) // it has come into a session
	led := make(chan error, 1)
	var term *holdfast.Leadership
	go func() {
		var err error
		term, err = c.Campaign(b.Context(), "scheduler", "next")
		led <- err
	}()
	stand.Eventually(b, "the next one waits", func() bool {
		s, err := c.Get(b.Context(), "scheduler")
		return err == nil && s.Waiting == 1
	})
	killed := time.Now()
	if err := leader.Process.Kill(); err != nil {
		b.Fatal(err)
	}
	_ = leader.Wait()
	if err := <-led; err != nil {
		b.Fatal(err)
	}
	took := time.Since(killed)
	if err := term.Resign(b.Context()); err != nil {
		b.Fatal(err)
	}
	return took
}
