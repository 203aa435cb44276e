package main_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// The commands of docs/recipes.md do what the page says, with scripts in the place of its programs.
func TestRecipes(t *testing.T) {
	t.Parallel()
	r := &recipes{folder: t.TempDir(), url: serve(t).url}
	page := string(stand.Value(os.ReadFile("../../docs/recipes.md"))(t))
	for _, m := range regexp.MustCompile("(?ms)^```(?:sh|cron)\n(.*?)\n```$").FindAllStringSubmatch(page, -1) {
		lines := strings.Split(m[1], "\n")
		r.lines = append(r.lines, regexp.MustCompile(`^[0-9] [0-9] \* \* \* `).ReplaceAllString(lines[len(lines)-1], ""))
	}
	if len(r.lines) != 7 {
		t.Fatalf("the page has %d recipes: %q", len(r.lines), r.lines)
	}

	t.Run("cron", func(t *testing.T) {
		r.script(t, "report", `echo "$HOLDFAST_TOKEN" >> ran`)
		for range 2 {
			p := r.start(t, 0)
			if p.ends(t) != 0 || p.out.String()+p.log.String() != "" {
				t.Errorf("the job: %v, %q, %q", p.cmd.ProcessState, p.out, p.log)
			}
		}
		r.wantRuns(t, "000000000000001\n")
	})
	t.Run("migrations", func(t *testing.T) {
		r.script(t, "migrate", `mkdir running && echo run >> ran && rmdir running`)
		var all []*job
		for range 3 {
			all = append(all, r.start(t, 1))
		}
		for _, p := range all {
			if p.ends(t) != 0 {
				t.Errorf("a migration: %v, %q", p.cmd.ProcessState, p.log)
			}
		}
		r.wantRuns(t, strings.Repeat("run\n", 3))
	})
	t.Run("leader", func(t *testing.T) {
		r.script(t, "scheduler", "echo leads; read line")
		leader := func(want string) {
			t.Helper()
			p := r.start(t, 3)
			if p.ends(t) != 0 || !strings.HasPrefix(p.out.String(), `"`+want+`:8080"`) {
				t.Errorf("the leader is %q %q, want %s", p.out, p.log, want)
			}
		}
		first := r.start(t, 2, "POD_IP=10.0.0.1")
		first.says(t, "leads")
		leader("10.0.0.1")
		second := r.start(t, 2, "POD_IP=10.0.0.2")
		first.signal(t, syscall.SIGTERM)
		second.says(t, "leads")
		leader("10.0.0.2")
	})
	t.Run("pool", func(t *testing.T) {
		r.script(t, "train", `echo "device $CUDA_VISIBLE_DEVICES"; read line`)
		var all []*job
		var devices []string
		for range 4 {
			p := r.start(t, 4)
			all, devices = append(all, p), append(devices, p.says(t, "device"))
		}
		first := devices[0]
		slices.Sort(devices)
		if want := []string{"device 0", "device 1", "device 2", "device 3"}; !slices.Equal(devices, want) {
			t.Errorf("the jobs have %q", devices)
		}
		fifth := r.start(t, 4)
		all[0].goOn(t)
		if got := fifth.says(t, "device"); got != first {
			t.Errorf("the fifth has %q, and the first had %q", got, first)
		}
	})
	t.Run("limit", func(t *testing.T) {
		r.script(t, "crawl", "echo crawled")
		if p := r.start(t, 5); p.ends(t) != 0 || p.out.String() != "crawled\n" {
			t.Errorf("%v, %q, %q", p.cmd.ProcessState, p.out, p.log)
		}
	})
	t.Run("yield", func(t *testing.T) {
		r.script(t, "reindex", "echo started; read line")
		first := r.start(t, 6)
		first.says(t, "started")
		second := r.start(t, 6)
		second.says(t, "started")
		if code := first.ends(t); code != 128+int(syscall.SIGTERM) {
			t.Errorf("the first has ended with %d: %s", code, first.log)
		}
	})
}

// recipes are the commands of the page, in its order.
type recipes struct {
	folder, url string
	lines       []string
}

// script writes a program of the page. It runs in the folder of the recipes.
func (r *recipes) script(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(r.folder, name)
	stand.Must(t, os.WriteFile(path, []byte("#!/bin/sh\ncd "+r.folder+"\n"+text+"\n"), 0o755))
}

// wantRuns compares what the scripts have written in the file of runs, which is then removed.
func (r *recipes) wantRuns(t *testing.T, want string) {
	t.Helper()
	file := filepath.Join(r.folder, "ran")
	if got := string(stand.Value(os.ReadFile(file))(t)); got != want {
		t.Errorf("the runs are %q, want %q", got, want)
	}
	stand.Must(t, os.Remove(file))
}

// job is a command of the page that was started.
type job struct {
	*process
	input io.WriteCloser
}

// start starts the command of this index.
func (r *recipes) start(t *testing.T, index int, variables ...string) *job {
	t.Helper()
	line := strings.ReplaceAll(r.lines[index], "/usr/local/bin/", r.folder+"/")
	line, found := strings.CutPrefix(line, "holdfast ")
	if !found {
		t.Fatalf("%q is no command of holdfast", r.lines[index])
	}
	p := prepare(t, exec.Command("bash", "-c", "exec "+stand.Binary(t)+" "+line), append(variables, "NATS_URL="+r.url))
	j := &job{p, stand.Value(p.cmd.StdinPipe())(t)}
	p.launch(t)
	return j
}

// says returns the first line with this text.
func (j *job) says(t *testing.T, text string) string {
	t.Helper()
	return j.out.WaitFor(t, j.done, text)
}

// goOn has the script go on, whose last command reads a line.
func (j *job) goOn(t *testing.T) {
	t.Helper()
	stand.Must(t, j.input.Close())
}

// ends returns the exit code.
func (j *job) ends(t *testing.T) int {
	t.Helper()
	return j.wait(t).ExitCode()
}
