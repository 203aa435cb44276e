package main_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// The programs and commands of docs/tutorial.md do what the page says, all of them and in its order. Ctrl-Z and fg are
// SIGSTOP and SIGCONT here; the folder and the addresses are those of the test.
func TestTutorial(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.shell("mkdir /tmp/shop")
	r.takes("make run")
	node := serve(t)
	r.deployed(node.url)

	r.shell("go build -C clients -o /tmp/shop/plain /tmp/shop/shop.go /tmp/shop/plain.go")
	r.shell("echo 100 > /tmp/shop/stock.txt")
	anna := r.worker("/tmp/shop/plain anna 30").reads()
	r.worker("/tmp/shop/plain bert 5").reads().writes()
	anna.writes()
	r.wantStock("70")
	r.lap("1. Two workers and a file")

	r.shell("go build -C clients -o /tmp/shop/locked /tmp/shop/shop.go /tmp/shop/lock.go /tmp/shop/locked.go")
	r.shell("echo 100 > /tmp/shop/stock.txt")
	anna = r.worker("/tmp/shop/locked anna 30 5s").reads()
	bert := r.worker("/tmp/shop/locked bert 5 5s")
	anna.enter()
	bert.reads().writes()
	r.wantStock("65")
	r.lap("2. A lock")

	r.shell("echo 100 > /tmp/shop/stock.txt")
	r.pause("/tmp/shop/locked")
	r.wantStock("70")
	r.lap("3. A paused worker")

	r.shell("go build -C clients -o /tmp/shop/guarded /tmp/shop/shop.go /tmp/shop/lock.go /tmp/shop/guarded.go")
	r.shell("echo 100 > /tmp/shop/stock.txt")
	r.pause("/tmp/shop/guarded")
	r.wantStock("95")
	r.worker("/tmp/shop/guarded anna 30 5s").reads().writes()
	r.lap("4. A guard")

	node.signal(t, syscall.SIGINT)
	node.wait(t)
	r.takes("make cluster")
	cluster := stand.StartMembers(t, 3)
	r.deployed(cluster.URLs())
	r.environment = append(r.environment, "NATS_URL="+cluster.All[0].URL)
	r.shell("rm -r /tmp/shop/.fence")
	r.shell("echo 100 > /tmp/shop/stock.txt")
	anna = r.worker("/tmp/shop/guarded anna 30 30s").reads()
	killed := cluster.All[1]
	if command := strings.Join(killed.Args, " ") + " "; !strings.Contains(command, "serve --name n2 ") {
		t.Errorf("the command of the second node is %q", command)
	}
	r.takes("pkill -KILL -f 'serve --name n2 '")
	killed.Kill()
	r.prints(r.shell("bin/holdfast get stock --timeout 30s"))
	anna.enter()
	bert = r.worker("/tmp/shop/guarded bert 5 30s").reads()
	bert.enter()
	left := r.shell("cat /tmp/shop/stock.txt")
	r.prints(bert.out.String())
	r.prints(left + "\n")
	r.lap("5. Three nodes and a kill")
	r.wantEnd()
}

// reader follows the page.
type reader struct {
	t           *testing.T
	text        string
	page        []item // what is still to come
	folder      string
	environment []string
	servers     string            // of the deployment, separated by commas
	programs    map[string]string // as the page has them
	build       string            // the last command that has built one
	began       time.Time         // the present step
}

// pause has anna paused between her read and her write, while bert sells.
func (r *reader) pause(program string) {
	r.t.Helper()
	anna := r.worker(program + " anna 30 5s").reads()
	anna.signal(r.t, syscall.SIGSTOP)
	r.worker(program + " bert 5 5s").reads().writes()
	anna.signal(r.t, syscall.SIGCONT)
	anna.writes()
}

// item is a program, a command, or what is printed.
type item struct{ kind, name, text string }

const serversOfTutorial = "nats://127.0.0.1:4222,nats://127.0.0.1:4223,nats://127.0.0.1:4224"

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{
		t: t, folder: filepath.Join(t.TempDir(), "shop"), programs: map[string]string{}, environment: os.Environ(),
		began: time.Now(),
	}
	r.text = string(stand.Value(os.ReadFile("../../docs/tutorial.md"))(t))
	items := regexp.MustCompile("(?ms)^```(go|text) ?([^\n]*)\n(.*?)^```$|^ {4}([^\n]+)$")
	for _, m := range items.FindAllStringSubmatch(r.text, -1) {
		if m[4] != "" {
			m[1], m[3] = "command", m[4]
		}
		r.page = append(r.page, item{m[1], m[2], m[3]})
	}
	return r
}

// next returns the next item of the page, and saves the programs before it.
func (r *reader) next() item {
	r.t.Helper()
	for ; len(r.page) > 0 && r.page[0].kind == "go"; r.page = r.page[1:] {
		r.programs[r.page[0].name] = r.page[0].text
		r.save(r.page[0].name)
	}
	if len(r.page) == 0 {
		return item{}
	}
	i := r.page[0]
	r.page = r.page[1:]
	return i
}

// save writes a program for the folder and the deployment of the test.
func (r *reader) save(name string) {
	r.t.Helper()
	text := strings.ReplaceAll(r.programs[name], serversOfTutorial, r.servers)
	write(r.t, filepath.Join(r.folder, name), r.here(text))
}

// here is a text of the page with the folder of the test.
func (r *reader) here(text string) string { return strings.ReplaceAll(text, "/tmp/shop", r.folder) }

// deployed has the workers use these servers.
func (r *reader) deployed(servers string) {
	r.t.Helper()
	r.servers = servers
	if r.build != "" {
		r.save("shop.go")
		r.bash(r.build)
	}
}

// takes takes a command from the page, which has to be the next thing there.
func (r *reader) takes(command string) {
	r.t.Helper()
	if i := r.next(); i.kind != "command" || i.text != command {
		r.t.Fatalf("the page has %q where the test has the command %q", i.text, command)
	}
}

// rest is what is left of a lease.
var rest = regexp.MustCompile(`[0-9.]+s left`)

// prints takes from the page what is printed, which has to be this, except for the rest of a lease.
func (r *reader) prints(text string) {
	r.t.Helper()
	if i := r.next(); i.kind != "text" || rest.ReplaceAllString(i.text, "") != rest.ReplaceAllString(text, "") {
		r.t.Errorf("the page has %q, and this is printed: %q", i.text, text)
	}
}

// shell runs a command of the page and returns what it prints.
func (r *reader) shell(command string) string {
	r.t.Helper()
	r.takes(command)
	if strings.HasPrefix(command, "go build ") {
		r.build = command
	}
	return r.bash(command)
}

func (r *reader) bash(command string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*bound)
	defer cancel()
	command = strings.ReplaceAll(r.here(command), "bin/holdfast", stand.Binary(r.t))
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir, cmd.Env = "../..", r.environment
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// wantStock fails the test unless the file has this number, and the page says so.
func (r *reader) wantStock(want string) {
	r.t.Helper()
	if !strings.Contains(strings.ToLower(r.text), "the file has "+want) {
		r.t.Errorf("the page does not say that the file has %s", want)
	}
	if got := string(stand.Value(os.ReadFile(filepath.Join(r.folder, "stock.txt")))(r.t)); got != want {
		r.t.Errorf("the file has %s, and the page %s", got, want)
	}
}

// lap ends a step, and logs how long it took.
func (r *reader) lap(step string) {
	r.t.Logf("%s: %v", step, time.Since(r.began).Round(time.Millisecond))
	r.began = time.Now()
}

func (r *reader) wantEnd() {
	r.t.Helper()
	if i := r.next(); i.kind != "" {
		r.t.Errorf("the test lacks %q of the page", i.text)
	}
}

// worker is a program of the page that was started.
type worker struct {
	*process
	r     *reader
	input io.Writer
}

// worker starts the program of a command of the page.
func (r *reader) worker(command string) *worker {
	r.t.Helper()
	r.takes(command)
	args := strings.Fields(r.here(command))
	p := prepare(r.t, exec.Command(args[0], args[1:]...), nil)
	w := &worker{process: p, r: r, input: stand.Value(p.cmd.StdinPipe())(r.t)}
	p.launch(r.t)
	return w
}

// reads returns when the worker has read the stock.
func (w *worker) reads() *worker {
	w.r.t.Helper()
	w.out.WaitFor(w.r.t, w.done, "at Enter")
	return w
}

// enter presses Enter, and returns when the worker has ended.
func (w *worker) enter() {
	w.r.t.Helper()
	_ = stand.Value(io.WriteString(w.input, "\n"))(w.r.t)
	w.wait(w.r.t)
}

// writes presses Enter. The worker prints what the page has next.
func (w *worker) writes() {
	w.r.t.Helper()
	w.enter()
	w.r.prints(w.out.String())
}
