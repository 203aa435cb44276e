// Command night runs all campaigns, one after the other, each for its share of the time, and goes on after a failure.
// What they have judged and found goes into a file of docs/results, and the page there is written from all such files.
// The output of each campaign is in bin/night.
//
// Run it from its own module: cd tools && go run ./night [-hours n] [-only names] [-page] [-check]
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// results is where the files and the page are, seen from the module.
const results = "../docs/results"

func main() {
	hours := flag.Float64("hours", 8, "how long all campaigns take together")
	only := flag.String("only", "", "the `names` of the campaigns that run, with commas between; empty: all")
	page := flag.Bool("page", false, "write the page from the files, and run nothing")
	check := flag.Bool("check", false, "fail if the page is not what the files make, and run nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := func() error {
		switch {
		case *check:
			return checkPage()
		case *page:
			return writePage()
		default:
			return run(ctx, *hours, *only)
		}
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "night:", err)
		os.Exit(1)
	}
}

// run runs the campaigns and writes what has come of them after each one, so that nothing is lost with an interruption.
func run(ctx context.Context, hours float64, only string) error {
	n, err := begin(hours)
	if err != nil {
		return err
	}
	say("night of %v hours, commit %s, seed %d\n", hours, n.Commit, n.Seed)
	if err := os.MkdirAll("../bin/night", 0o755); err != nil {
		return err
	}
	earlier, err := read()
	if err != nil {
		return err
	}
	var failed []string
	for _, c := range campaigns {
		if only != "" && !slices.Contains(strings.Split(only, ","), c.name) {
			continue
		}
		length := time.Duration(hours * c.share / 100 * float64(time.Hour))
		r := c.run(ctx, length, n.Seed, counted(earlier, c.name))
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if n.Campaigns = append(n.Campaigns, r); r.Failed {
			failed = append(failed, c.name)
		}
		if err := errors.Join(n.write(), writePage()); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s; the output is in bin/night", strings.Join(failed, ", "))
	}
	return nil
}

// counted is how much a campaign has counted in these nights.
func counted(nights []night, name string) (sum int) {
	for _, n := range nights {
		for _, r := range n.Campaigns {
			if r.Name == name {
				for _, times := range r.Counts {
					sum += times
				}
			}
		}
	}
	return sum
}

// begin says what a night is of. Its seed is the minute in which it begins, so no two nights draw the same.
func begin(hours float64) (*night, error) {
	now := time.Now().UTC().Truncate(time.Minute)
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*").Output()
	if err != nil {
		return nil, fmt.Errorf("git describe: %w", err)
	}
	version, err := exec.Command("go", "env", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	minute, err := strconv.ParseUint(now.Format("200601021504"), 10, 64)
	return &night{
		Began: now, Commit: strings.TrimSpace(string(commit)), Hours: hours, Seed: minute * 1000,
		Cores: runtime.NumCPU(), Go: strings.TrimSpace(string(version)), System: runtime.GOOS + "/" + runtime.GOARCH,
	}, err
}

// run runs a campaign, and those that are shorter than their time again.
func (c campaign) run(ctx context.Context, length time.Duration, seed uint64, before int) result {
	began := time.Now()
	r := result{Name: c.name, Counts: make(map[string]int)}
	name := filepath.Join("../bin/night", c.name+".log")
	log, err := os.Create(name)
	for err == nil {
		args := c.arguments(length, seed, before)
		r.Command = shown(args)
		say("\n=== %s: %s\n", c.name, r.Command)
		var output bytes.Buffer
		err = execute(ctx, length, io.MultiWriter(log, &output), args)
		counted := c.count(output.String())
		for what, n := range counted {
			r.Counts[what] += n
		}
		if err == nil && len(counted) == 0 {
			err = errNothing
		}
		if err != nil {
			r.Failed, r.Failure = true, append([]string{err.Error()}, telling(output.String())...)
		}
		if !c.again || time.Since(began) > length {
			break
		}
	}
	if err != nil && !r.Failed {
		r.Failed, r.Failure = true, []string{err.Error()}
	}
	r.Minutes = float64(time.Since(began).Round(6*time.Second)) / float64(time.Minute)
	say("--- %s: %.1f minutes, %s%s\n", c.name, r.Minutes, r.counted(), failure(r))
	return r
}

// errNothing says that a command has passed without any of what is counted: its tests may have another name now.
var errNothing = errors.New("it has counted nothing")

// shown is a command as it is typed.
func shown(args []string) string {
	typed := slices.Clone(args)
	for i, arg := range typed {
		if strings.ContainsAny(arg, " $") {
			typed[i] = "'" + arg + "'"
		}
	}
	return strings.Join(typed, " ")
}

// overrun is how much longer than its time a campaign may take: it is built before, and ends what it has begun.
const overrun = 20 * time.Minute

// execute runs a command with all that it starts, from the root of the repository.
func execute(ctx context.Context, length time.Duration, output io.Writer, args []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*length+overrun, errors.New("it has not ended in time"))
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "..", output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	err := cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		return errors.Join(cause, err)
	}
	return err
}

// mostTelling bounds the lines of a failure that are kept in a result.
const mostTelling = 12

// tells are in the lines that say what has failed, and how it is repeated.
var tells = []string{"--- FAIL", "again: ", "panic: ", "DATA RACE", "FAILED", "not found: ", "vacuous: "}

// telling returns the first lines with one of them.
func telling(output string) (lines []string) {
	for line := range strings.Lines(output) {
		tells := slices.ContainsFunc(tells, func(word string) bool { return strings.Contains(line, word) })
		if tells && len(lines) < mostTelling {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func failure(r result) string {
	if !r.Failed {
		return ""
	}
	return ", FAILED:\n    " + strings.Join(r.Failure, "\n    ")
}

// say prints progress.
func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format, args...) }
