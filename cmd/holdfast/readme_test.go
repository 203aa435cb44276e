package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// The Go program in README.md takes a lock and writes under its token, twice.
func TestExampleOfREADME(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```go\n(package main.*?)```").FindStringSubmatch(string(readme))
	if program == nil || !strings.Contains(program[1], `"nats://127.0.0.1:4222"`) {
		t.Fatal("README.md has no Go program that connects to nats://127.0.0.1:4222")
	}
	p := serve(t)
	source, binary := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "example")
	write(t, source, strings.ReplaceAll(program[1], `"nats://127.0.0.1:4222"`, `"`+p.url+`"`))
	ctx, cancel := context.WithTimeout(t.Context(), 2*bound)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, source)
	build.Dir = "../../clients" // the module that an application requires
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	folder := t.TempDir()
	for _, want := range []string{"writing under token 000000000000001\n", "writing under token 000000000000002\n"} {
		example := exec.CommandContext(ctx, binary)
		example.Dir = folder
		out, err := example.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("the program: %v, printed %q, want %q", err, out, want)
		}
	}
	if got, err := os.ReadFile(filepath.Join(folder, "7.txt")); err != nil || string(got) != "paid\npaid\n" {
		t.Errorf("the file has %q, %v", got, err)
	}
}

// The commands of README.md after the start of a node are done.
func TestCommandsOfREADME(t *testing.T) {
	t.Parallel()
	readme := string(stand.Value(os.ReadFile("../../README.md"))(t))
	commands := regexp.MustCompile(`(?m)^    bin/holdfast ([^#\n]*)`).FindAllStringSubmatch(readme, -1)
	if len(commands) != 3 {
		t.Fatalf("README.md has %d commands", len(commands))
	}
	p := serve(t)
	for i, want := range []string{`(?s)^acquired orders\.43.*token 1`, `(?s)orders\.43 +me +1 `, `^000000000000001\n$`} {
		j := prepare(t, exec.Command("bash", "-c", "exec "+stand.Binary(t)+" "+commands[i][1]), []string{"NATS_URL=" + p.url})
		j.launch(t)
		j.wait(t)
		if !regexp.MustCompile(want).MatchString(j.out.String()) || !j.cmd.ProcessState.Success() {
			t.Errorf("%s: %v, %q, %q", commands[i][1], j.cmd.ProcessState, j.out, j.log)
		}
	}
}
