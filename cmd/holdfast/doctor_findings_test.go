package main_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/doctor"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/archive"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func jetStream(t *testing.T, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	return stand.Value(jetstream.New(nc))(t)
}

// nodeOn starts a node on a NATS server outside of its process.
func nodeOn(t *testing.T, url, name string, args ...string) *process {
	t.Helper()
	return serveWith(t, nil, append([]string{"--server", url, "--name", name}, args...)...)
}

// Each answer is slow for one that expects it at once.
func TestDoctorFindsSlowAnswers(t *testing.T) {
	t.Parallel()
	s := stand.Start(t, stand.Config{Shards: 2})
	found := make(map[string]doctor.Result)
	doctor.Run(t.Context(), doctor.Config{
		Conn: s.Connect(), Prefix: messages.DefaultPrefix, Timeout: bound, Slow: time.Nanosecond,
	}, func(r doctor.Result) { found[r.Check] = r })
	for check, want := range map[string][]string{
		"connection": {"the round trip to NATS at "}, "nodes": {"node stand takes "},
		"commits": {"a commit of shard 0 takes ", "a commit of shard 1 takes "},
	} {
		var got []string
		for _, f := range found[check].Findings {
			got = append(got, f.What)
		}
		if !slices.EqualFunc(got, want, strings.HasPrefix) || found[check].State != doctor.Warning {
			t.Errorf("%s: %q, want %q", check, got, want)
		}
	}
}

// A node follows its NATS server after a moment, which is no finding.
func TestDoctorOfANodeThatStarts(t *testing.T) {
	t.Parallel()
	outside := stand.StartNATS(t, embedded.Config{})
	var starting sync.WaitGroup
	defer starting.Wait()
	doctor.Run(t.Context(), doctor.Config{
		Conn: outside.Connect(t), Prefix: messages.DefaultPrefix, Timeout: bound, Slow: bound,
	}, func(r doctor.Result) {
		if r.Check == "permissions" {
			starting.Go(func() {
				node, err := server.Start(t.Context(), server.Config{
					Config: node.Config{Name: "n1", Log: slog.New(slog.DiscardHandler)},
					Alone:  true, NATS: &nats.Options{Url: outside.ClientURL()},
				})
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(func() { _ = node.Stop() })
			})
		}
		if r.Check == "shards" && r.State != doctor.OK {
			t.Errorf("%+v", r)
		}
	})
}

// Each node says how far its clock is from the other one.
func TestDoctorFindsClocksApart(t *testing.T) {
	t.Parallel()
	outside := stand.StartNATS(t, embedded.Config{})
	right, wrong := stand.NewClock(), stand.NewClock()
	wrong.Set(time.Hour)
	for name, clock := range map[string]*stand.Clock{"n1": right, "n2": wrong} {
		s := stand.Value(server.Start(t.Context(), server.Config{
			Config: node.Config{Name: name, Clock: clock, Log: slog.New(slog.DiscardHandler)},
			NATS:   &nats.Options{Url: outside.ClientURL()},
		}))(t)
		t.Cleanup(func() { _ = s.Stop() })
	}
	nc := outside.Connect(t)
	want := regexp.MustCompile(`^the clocks of nodes are apart: n1 is (59m5\ds|1h\S*) behind n2, n2 is 1h\S* ahead of n1$`)
	stand.Eventually(t, "the doctor finds "+want.String(), func() bool {
		var what []string
		doctor.Run(t.Context(), doctor.Config{
			Conn: nc, Prefix: messages.DefaultPrefix, Timeout: bound, Slow: bound,
		}, func(r doctor.Result) {
			for _, f := range r.Findings {
				if f.Alert == "HoldfastClocksApart" {
					what = append(what, f.What)
				}
			}
		})
		return len(what) == 1 && want.MatchString(what[0])
	})
}

// A context that has ended ends the checks: the rest is not asked.
func TestDoctorIsInterrupted(t *testing.T) {
	t.Parallel()
	s := stand.Start(t, stand.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var made []string
	doctor.Run(ctx, doctor.Config{Conn: s.Connect(), Prefix: messages.DefaultPrefix, Timeout: bound, Slow: bound},
		func(r doctor.Result) {
			made = append(made, r.Check)
			cancel()
		})
	if !slices.Equal(made, []string{"connection"}) {
		t.Errorf("made %v", made)
	}
}

// A server that hangs has accepted the connection.
func TestDoctorFindsAServerThatHangs(t *testing.T) {
	t.Parallel()
	before := proxy.New(t, stand.StartNATS(t, embedded.Config{}).ClientURL())
	nc := stand.Dial(t, before.URL())
	before.Blackhole()
	ctx, cancel := context.WithCancel(t.Context())
	doctor.Run(ctx, doctor.Config{Conn: nc, Prefix: messages.DefaultPrefix, Timeout: time.Second, Slow: bound},
		func(r doctor.Result) {
			cancel()
			if len(r.Findings) != 1 || !strings.Contains(r.Findings[0].What, "does not answer") {
				t.Errorf("%+v", r)
			}
		})
}

func TestDoctorFindsAnOldServer(t *testing.T) {
	t.Parallel()
	p := serve(t)
	before := proxy.New(t, p.url)
	before.OnInfo(func(line string) string { return strings.Replace(line, `"version":"2.15.`, `"version":"2.14.`, 1) })
	examine(t, before.URL()).wantOnly(t, "connection", doctor.Problem, `^the NATS server \S+ runs 2\.14\.`)
}

// A shard that the check had no time for is no finding. A node that hangs takes the time of the check.
func TestDoctorRunsOutOfTime(t *testing.T) {
	t.Parallel()
	server := stand.StartNATS(t, embedded.Config{})
	node := nodeOn(t, server.ClientURL(), "n1", "--shards", "2")
	var commits doctor.Result
	doctor.Run(t.Context(), doctor.Config{
		Conn: server.Connect(t), Prefix: messages.DefaultPrefix, Timeout: time.Second, Slow: bound,
	}, func(r doctor.Result) {
		switch r.Check {
		case "nodes":
			node.freeze(t)
		case "commits":
			commits = r
		}
	})
	if commits.State != doctor.NotVisible || commits.Needs != "more time (--timeout): 0 of 2 shards looked at" ||
		len(commits.Findings) > 0 {
		t.Errorf("%+v", commits)
	}
}

// An answer of JetStream that is lost stands for an election. A bucket that the check had no time for is no finding.
func TestDoctorAsksJetStreamAgain(t *testing.T) {
	t.Parallel()
	p := serve(t, "--shards", "2")
	before := proxy.New(t, p.url)
	before.OnRequests("API", proxy.First(2, proxy.Lose)) // the first is about the account
	examine(t, before.URL()).wantHealthy(t)
	before.OnRequests("API", proxy.Always(proxy.Lose))
	r := examine(t, before.URL(), "--timeout", "1s").check(t, "replicas")
	if r.State != doctor.NotVisible || r.Needs != "more time (--timeout): 0 of 2 buckets looked at" ||
		len(r.Findings) > 0 {
		t.Errorf("%+v", r)
	}
}

// freeze returns when the process is stopped.
func (p *process) freeze(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	stand.Eventually(t, "the process is stopped", func() bool {
		stat := stand.Value(os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid)))(t)
		return bytes.Contains(stat, []byte(") T "))
	})
}

// An address of this machine that is not its loopback stands for one that other hosts reach.
func TestDoctorFindsAnOpenServer(t *testing.T) {
	t.Parallel()
	p := serve(t, "--listen", "0.0.0.0:0", "--allow-remote")
	_, port, _ := strings.Cut(strings.TrimPrefix(p.url, "nats://"), ":")
	examine(t, "nats://"+ownAddress(t)+":"+port).wantOnly(t, "connection", doctor.Warning,
		`^NATS at \S+ asks for no login$`)
}

// A server that requires certificates is not open to each host, though it asks for no login.
func TestDoctorOfAServerThatRequiresCertificates(t *testing.T) {
	t.Parallel()
	s := &secured{dir: t.TempDir()}
	ca := stand.NewAuthority(t, s.dir, "ca")
	ca.Issue("server")
	ca.Issue("client")
	file := stand.NATSConfig(t,
		fmt.Sprintf(`listen: "0.0.0.0:-1", tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }`,
			s.file("server.pem"), s.file("server-key.pem"), s.file("ca.pem")))
	at := stand.Value(url.Parse(stand.StartNATS(t, embedded.Config{ConfigFile: file}).ClientURL()))(t)
	d := examine(t, "tls://"+net.JoinHostPort(ownAddress(t), at.Port()), "--tls-ca", s.file("ca.pem"), "--tls-cert",
		s.file("client.pem"), "--tls-key", s.file("client-key.pem"))
	d.wantOnly(t, "shards", doctor.Problem, `^no node answers`)
	if text := d.check(t, "permissions").Text; !strings.Contains(text, "each client whose certificate it takes") {
		t.Errorf("%q", text)
	}
}

// A node that hangs is no member after two seconds, but NATS goes on to give it requests. Which ones is random.
func TestDoctorFindsNodesThatHang(t *testing.T) {
	t.Parallel()
	url := stand.StartNATS(t, embedded.Config{}).ClientURL()
	healthy, hangs := nodeOn(t, url, "n1"), nodeOn(t, url, "n2")
	d := examineUntil(t, "both are listed", url, func(d *diagnosis) bool {
		return d.isFine() && strings.HasSuffix(d.check(t, "shards").Text, " of 2 nodes")
	})
	if storage := d.check(t, "storage"); storage.State != doctor.NotVisible ||
		!strings.Contains(storage.Needs, "n1, n2") {
		t.Errorf("%+v", storage)
	}
	hangs.freeze(t)
	examineUntil(t, "it is in no list", url, func(
		d *diagnosis) bool {
		return strings.HasSuffix(d.check(t, "shards").Text, " of 1 node")
	}).
		want(t, "shards", doctor.Problem,
			`^\d+ of 16 requests on holdfast\.info were lost, and the others were answered$`)
	healthy.freeze(t)
	examine(t, url).want(t, "shards", doctor.Problem, `^no node answers on holdfast\.info: no answer in time$`)
}

// A node that may not hear the question stands for one that is listed and does not answer.
func TestDoctorFindsANodeThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	server := stand.StartNATS(t, embedded.Config{ConfigFile: stand.NATSConfig(t, `authorization { users: [
		{ user: node, password: x }
		{ user: silent, password: x, permissions: { publish: ">", subscribe: { deny: "$SRV.>" } } }
	] }`)})
	as := func(user string) string { return strings.Replace(server.ClientURL(), "//", "//"+user+":x@", 1) }
	nodeOn(t, as("node"), "n1")
	nodeOn(t, as("silent"), "n2")
	d := examine(t, as("node"))
	d.want(t, "nodes", doctor.Problem, `^node n2 does not answer$`)
	if text := d.check(t, "nodes").Text; !strings.HasPrefix(text, "n1, the slowest after ") {
		t.Errorf("%q", text)
	}
}

// A cluster is healthy until a server is away, and without a majority nothing is confirmed. The first server that is
// killed leads the bucket, so that its successor has never heard it.
func TestDoctorOfACluster(t *testing.T) {
	t.Parallel()
	c := stand.StartMembers(t, 3, "--shards", "1")
	examineUntil(t, "it is healthy", c.URLs(), (*diagnosis).isFine).wantHealthy(t)
	nc := stand.Dial(t, c.URLs())
	stream := stand.Value(jetStream(t, nc).Stream(t.Context(), "KV_HOLDFAST_0"))(t)
	client, leading := stand.Client(t, nc), ""
	stand.Eventually(t, "the leadership has followed the shard", func() bool { // else it moves later
		info, err := client.Info(t.Context())
		if err != nil {
			return false
		}
		state, err := stream.Info(t.Context())
		if err != nil {
			return false
		}
		leading = state.Cluster.Leader
		return slices.ContainsFunc(info.Nodes, func(n holdfast.Node) bool {
			return n.Name == leading &&
				len(n.Shards) == 1
		})
	})
	leads := func(m *stand.Member) bool { return m.Name == leading }
	leader, others := c.All[slices.IndexFunc(c.All, leads)], slices.DeleteFunc(slices.Clone(c.All), leads)
	stop := slowDown(t, others[1], leader.URL)
	stand.Eventually(t, "a replica lags", func() bool {
		return examine(t, leader.URL).has(t, "replicas", doctor.Warning,
			`^bucket HOLDFAST_0: the replica on server `+others[1].Name+` is behind$`)
	})
	stop()
	leader.Kill()
	stand.Eventually(t, "its replica is missed", func() bool {
		d := examine(t, others[0].URL, "--timeout", "3s")
		return d.check(t, "commits").State == doctor.OK &&
			d.has(t, "replicas", doctor.Warning, `^bucket HOLDFAST_0: the replica on server `+leader.Name+` is away$`)
	})
	others[1].Kill()
	stand.Eventually(t, "nothing is confirmed", func() bool {
		d := examine(t, others[0].URL, "--timeout", "5s")
		return d.has(t, "replicas", doctor.Problem, `^bucket HOLDFAST_0 has no leader: `) &&
			d.has(t, "commits", doctor.Problem,
				`^shard 0 (is stalled: no read is confirmed: (no answer in time|unavailable: .*)|has no owner: its subjects have no subscriber)$`)
	})
}

// slowDown lets a server run for a hundredth of the time, while its deployment is in use, until stop is called.
func slowDown(t *testing.T, m *stand.Member, url string) (stop func()) {
	t.Helper()
	load := start(t, "bench", "--server", url, "--duration", "10m")
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(m.Pid(), s); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var pulsing sync.WaitGroup
	pulsing.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for pulse := 0; ctx.Err() == nil; pulse++ {
			if pulse%100 == 0 {
				signal(syscall.SIGCONT)
			} else {
				signal(syscall.SIGSTOP)
			}
			<-tick.C
		}
		signal(syscall.SIGCONT)
	})
	stop = sync.OnceFunc(func() {
		cancel()
		pulsing.Wait()
		load.signal(t, syscall.SIGTERM)
		load.wait(t)
	})
	t.Cleanup(stop)
	return stop
}

func TestDoctorFindsFewReplicas(t *testing.T) {
	t.Parallel()
	c := stand.StartMembers(t, 3, "--shards", "2", "--replicas", "1")
	examineUntil(t, "all nodes are there", c.URLs(), func(d *diagnosis) bool {
		return len(d.check(t, "replicas").Findings) > 0
	}).wantOnly(t, "replicas", doctor.Warning, `^each bucket is stored on 1 server of a cluster of at least 3$`)
	js := jetStream(t, stand.Dial(t, c.URLs()))
	stream := stand.Value(js.Stream(t.Context(), "KV_HOLDFAST_0"))(t)
	raised := stream.CachedInfo().Config
	raised.Replicas = 3
	stand.Value(js.UpdateStream(t.Context(), raised))(t)
	examine(t, c.URLs()).want(t, "replicas", doctor.Warning,
		`^the replicas were not raised in each bucket: stored on 1 server only: HOLDFAST_1$`)
}

// A shard whose bucket cannot be true has no owner, and an alone node refuses its requests.
func TestDoctorFindsAShardWithoutOwner(t *testing.T) {
	t.Parallel()
	server := stand.StartNATS(t, embedded.Config{})
	url := server.ClientURL()
	node := nodeOn(t, url, "n1", "--shards", "2")
	node.signal(t, syscall.SIGTERM)
	node.wait(t)
	if _, err := jetStream(t, server.Connect(t)).Publish(t.Context(), "$KV.HOLDFAST_1.journal.999", []byte("garbage")); err != nil {
		t.Fatal(err)
	}
	nodeOn(t, url, "n1")
	d := examine(t, url)
	d.want(t, "shards", doctor.Problem, `^shard 1 has no owner: no node says that it owns it$`)
	d.want(t, "commits", doctor.Problem, `^shard 1 `)
}

// The only node is killed between two checks.
func TestDoctorFindsAShardWithoutSubscriber(t *testing.T) {
	t.Parallel()
	url := stand.StartNATS(t, embedded.Config{}).ClientURL()
	node, found := nodeOn(t, url, "n1", "--shards", "1"), make(map[string]doctor.Result)
	nc := stand.Dial(t, url)
	doctor.Run(t.Context(), doctor.Config{
		Conn: nc, Prefix: messages.DefaultPrefix, Timeout: bound, Slow: bound,
	}, func(r doctor.Result) {
		found[r.Check] = r
		if r.Check == "nodes" {
			node.kill(t)
			stand.WaitNoResponders(t, nc, messages.DefaultPrefix.Direct(messages.Shard{Number: 0}, messages.OpGet, "probe"))
		}
	})
	if f := found["commits"].Findings; len(f) != 1 || f[0].State != doctor.Problem ||
		f[0].What != "shard 0 has no owner: its subjects have no subscriber" {
		t.Errorf("%+v", found)
	}
}

func TestDoctorFindsDifferentVersions(t *testing.T) {
	t.Parallel()
	outside := stand.StartNATS(t, embedded.Config{})
	nodeOn(t, outside.ClientURL(), "n1")
	other := stand.Value(server.Start(t.Context(), server.Config{
		Config: node.Config{Name: "n2", Version: "v0.0.1-test", Log: slog.New(slog.DiscardHandler)},
		NATS:   &nats.Options{Url: outside.ClientURL()},
	}))(t)
	t.Cleanup(func() {
		if err := other.Stop(); err != nil {
			t.Error(err)
		}
	})
	stand.Eventually(t, "both are listed", func() bool {
		return examine(t, outside.ClientURL()).has(t, "shards", doctor.Warning,
			`^the nodes run different versions: v0\.0\.0-test on n1; v0\.0\.1-test on n2$`)
	})
}

func TestDoctorFindsUnsafeSync(t *testing.T) {
	t.Parallel()
	p := serve(t, "--unsafe-sync", "--name", "n1")
	examine(t, p.url).wantOnly(t, "storage", doctor.Problem, `^node n1 confirms writes that are not on disk yet$`)
}

// A certificate is a finding two weeks before its end.
func TestDoctorFindsAnEndingCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := stand.NewAuthority(t, dir, "ca")
	for lasts, finding := range map[time.Duration]bool{15 * 24 * time.Hour: false, 3 * 24 * time.Hour: true} {
		name := fmt.Sprint("node", lasts)
		ca.Issue(name, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(lasts) })
		p := serve(t, "--tls-cert", filepath.Join(dir, name+".pem"), "--tls-key", filepath.Join(dir, name+"-key.pem"))
		if d := examine(t, p.url, "--tls-ca", filepath.Join(dir, "ca.pem")); d.has(t, "storage", doctor.Warning, `^the certificate of node \S+ for clients ends on 20`) != finding {
			t.Errorf("with %v left: %+v", lasts, d.check(t, "storage"))
		}
	}
}

// A file system in memory that is full stands for a disk that is.
func TestDoctorFindsAFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this test mounts a file system; run it as root")
	}
	t.Parallel()
	disk := smallDisk(t, 64<<20)
	p := serve(t, "--name", "n1", "--data", filepath.Join(disk, "data"))
	examine(t, p.url).wantHealthy(t)
	fill(t, filepath.Join(disk, "ballast"))
	p.holdfast(t, "acquire", "orders.42", "--owner", "me", "--timeout", "2s", "--metadata",
		"x="+strings.Repeat("x", 1000))
	stand.Eventually(t, "it is found", func() bool {
		d := examine(t, p.url)
		return d.has(t, "storage", doctor.Warning, `^the disk of node n1 is nearly full: \S+ \S+ of 6\S+ MB free$`) &&
			d.has(t, "storage", doctor.Problem, `^node n1 cannot store: `)
	})
}

// smallDisk mounts a file system of this size in memory, until the end of the test.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", size), "holdfast-test",
		dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return dir
}

// fill writes a file until the disk is full.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size > 0; size /= 2 {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		err = nil
	}
	if err := f.Close(); err != nil {
		t.Log(err) // it is full
	}
}

func TestDoctorFindsAFullAccount(t *testing.T) {
	t.Parallel()
	server := stand.StartNATS(t, embedded.Config{ConfigFile: stand.NATSConfig(t,
		`accounts { A: { jetstream: { max_file: 1000000 }, users: [ { user: a, password: b } ] } }`)})
	url := strings.Replace(server.ClientURL(), "//", "//a:b@", 1)
	nodeOn(t, url, "n1", "--shards", "1")
	js := jetStream(t, stand.Dial(t, url))
	stand.Value(js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other"}}))(t)
	if examine(t, url).has(t, "storage", doctor.Warning, `^the NATS account`) {
		t.Error("the account is not full yet")
	}
	stand.Value(js.Publish(t.Context(), "other", make([]byte, 950_000)))(t)
	examine(t, url).want(t, "storage", doctor.Warning,
		`^the NATS account has used 9\d\d\.\d kB of the 1\.0 MB that it may store$`)
}

func TestDoctorFindsWrongBuckets(t *testing.T) {
	t.Parallel()
	p := serve(t, "--shards", "3")
	js := jetStream(t, stand.Dial(t, p.url))
	stream, err := js.Stream(t.Context(), "KV_HOLDFAST_1")
	if err != nil {
		t.Fatal(err)
	}
	changed := stream.CachedInfo().Config
	changed.AllowDirect = true
	stand.Value(js.UpdateStream(t.Context(), changed))(t)
	examine(t, p.url).wantOnly(t, "replicas", doctor.Problem,
		`^bucket HOLDFAST_1 cannot be used: .*allow direct true, it must be false`)
	stand.Must(t, js.DeleteStream(t.Context(), "KV_HOLDFAST_2"))
	if stream, err = js.Stream(t.Context(), "KV_HOLDFAST_0"); err != nil {
		t.Fatal(err)
	}
	marked := stream.CachedInfo().Config
	marked.Metadata["holdfast.restore"] = "1"
	stand.Value(js.UpdateStream(t.Context(), marked))(t)
	d := examine(t, p.url)
	d.want(t, "replicas", doctor.Problem, `^bucket HOLDFAST_2 cannot be used: .*a bucket is missing`)
	d.want(t, "replicas", doctor.Problem,
		`^bucket HOLDFAST_0 cannot be used: .*the restore of the deployment is not finished`)
}

func TestDoctorFindsLimits(t *testing.T) {
	t.Parallel()
	p := serve(t, "--name", "n1", "--max-held", "5", "--max-waiting", "10", "--max-queue", "5")
	nc := stand.Dial(t, p.url)
	for i := range 3 {
		granted(t, acquire(t, nc, fmt.Sprint("r", i), `{"owner":"me","ttl_ms":600000}`))
	}
	waits := func(resource string, n int) {
		for i := range n {
			acquire(t, nc, resource, fmt.Sprintf(`{"owner":"w%d","ttl_ms":600000,"wait_ms":600000}`, i))
		}
		p.waitForQueue(t, resource, n)
	}
	waits("r0", 3)
	examine(t, p.url).wantHealthy(t)
	granted(t, acquire(t, nc, "r3", `{"owner":"me","ttl_ms":600000}`))
	examine(t, p.url).wantOnly(t, "load", doctor.Warning, `^node n1: 4 leases are held, of at most 5$`)
	waits("r1", 4)
	examine(t, p.url).want(t, "queues", doctor.Warning,
		`^the queue of r1 is nearly full: 4 requests wait, of at most 5$`)
	waits("r2", 1)
	examine(t, p.url).want(t, "load", doctor.Warning, `^node n1: 8 requests wait, of at most 10$`)
}

// A listing has at most 100 requests of a queue, so longer ones look alike in it.
func TestDoctorFindsTheLongestQueue(t *testing.T) {
	t.Parallel()
	p := serve(t, "--shards", "1", "--max-queue", "150")
	nc := stand.Dial(t, p.url)
	waits := func(resource string, n int) {
		granted(t, acquire(t, nc, resource, `{"owner":"me","ttl_ms":600000}`))
		for i := range n {
			stand.Must(t, nc.PublishRequest("holdfast.acquire."+resource, "_INBOX.x",
				fmt.Appendf(nil, `{"owner":"w%d","ttl_ms":600000,"wait_ms":600000}`, i)))
		}
	}
	for i := range 10 {
		waits(fmt.Sprint("a", i), 110)
	}
	waits("z", 130)
	p.waitForQueue(t, "z", 130)
	examine(t, p.url).wantOnly(t, "queues", doctor.Warning,
		`^the queue of z is nearly full: 130 requests wait, of at most 150$`)
}

func TestDoctorFindsALossThatIsNotConfirmed(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.lose(t, "disk.7", "--confirm")
	p.lose(t, "disk.8", "--delay", "1h")
	p.waitHeldBack(t, "disk.7")
	p.waitHeldBack(t, "disk.8")
	d := examine(t, p.url)
	d.wantOnly(t, "queues", doctor.Warning, `^disk\.7 is held back until the loss of "me", token 1, is confirmed$`)
	if do := d.check(t, "queues").Findings[0].Do; !strings.Contains(do, "holdfast confirm disk.7 --token 1") {
		t.Errorf("%q", do)
	}
}

// What was listed before an answer is lost is looked at.
func TestDoctorLooksAtAPartOfTheLocks(t *testing.T) {
	t.Parallel()
	p := serve(t, "--shards", "1")
	nc := stand.Dial(t, p.url)
	for i := range messages.MaxListLimit {
		stand.Must(t, nc.PublishRequest(fmt.Sprint("holdfast.acquire.", i), "_INBOX.x",
			[]byte(`{"owner":"me","ttl_ms":600000}`)))
	}
	granted(t, acquire(t, nc, "last", `{"owner":"me","ttl_ms":600000}`))
	before := proxy.New(t, p.url)
	page := 0
	before.OnRequests("list", func() proxy.Verdict {
		if page++; page == 2 {
			return proxy.Lose
		}
		return proxy.Pass
	})
	d := examine(t, before.URL())
	for check, text := range map[string]string{
		"queues": "0 queues among the first 1000 leases", "deadlocks": "0 deadlocks among the first 1000 leases",
		"tokens": "0 tokens near the end among the first 1000 leases",
	} {
		if r := d.check(t, check); r.State != doctor.NotVisible || r.Text != text ||
			r.Needs != "an answer in time to each request on holdfast.list" {
			t.Errorf("%s: %+v", check, r)
		}
	}
}

func TestDoctorFindsADeadlock(t *testing.T) {
	t.Parallel()
	p := serve(t, "--shards", "3")
	p.holdfast(t, "acquire", "x", "--owner", "a", "--ttl", "10m").want(t, 0, `token 1`)
	p.holdfast(t, "acquire", "y", "--owner", "b", "--ttl", "10m").want(t, 0, `token 1`)
	p.waitsFor(t, "a", "y")
	examine(t, p.url).wantHealthy(t)
	p.waitsFor(t, "b", "x")
	d := examine(t, p.url)
	d.wantOnly(t, "deadlocks", doctor.Problem,
		`^deadlock: "a" waits for y, which "b" holds; "b" waits for x, which "a" holds$`)
	if do := d.check(t, "deadlocks").Findings[0].Do; !strings.Contains(do, "holdfast break y --token 1") {
		t.Errorf("%q", do)
	}
}

// A backup with a high token stands for a resource that has been granted for millennia.
func TestDoctorFindsTokensNearTheirEnd(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	w, err := archive.NewWriter(&file, &archive.Header{Prefix: "holdfast", Shards: 1, Version: "v1", AtMs: 1})
	if err != nil {
		t.Fatal(err)
	}
	page := &journal.Page{Number: 3, Epoch: 1, Entries: []*journal.Entry{
		{Resource: "old", Reserved: uint64(messages.WarnToken)},
		{Resource: "block", Reserved: uint64(messages.WarnToken) - 10}}}
	for _, err := range []error{w.Shard(&archive.Shard{Position: 3, Number: 3, Epoch: 1}), w.Page(page), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	path, data := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
	write(t, path, file.String())
	if r := run(t, "restore", path, "--data", data, "--ahead", "0"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	p := serve(t, "--data", data, "--name", "n1")
	examine(t, p.url).wantHealthy(t)
	p.holdfast(t, "acquire", "old", "--owner", "me", "--ttl", "10m").want(t, 0, `token 9\d{13}`)
	d := examine(t, p.url)
	d.want(t, "tokens", doctor.Warning, `^the token of old is 9\d{13}$`)
	d.want(t, "tokens", doctor.Warning, `^node n1 has granted 1 token above 90000000000000 since its start$`)
	p.acquireRaw(t, "block", `{"owner":"me","ttl_ms":600000,"tokens":100}`)
	examine(t, p.url).want(t, "tokens", doctor.Warning, `^the token of block is 90000000000090$`)
}

// ownAddress returns an address of this machine by which others may reach it.
func ownAddress(t *testing.T) string {
	t.Helper()
	for _, ip := range stand.OwnAddresses(t) {
		if ip.To4() != nil && !ip.IsLoopback() {
			return ip.String()
		}
	}
	t.Skip("this machine has no address but its loopback")
	return ""
}
