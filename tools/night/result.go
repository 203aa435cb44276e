package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// night is what one run has shown, as its file has it.
type night struct {
	Began time.Time `json:"began"`
	// Commit ends with -dirty if the files differed from it.
	Commit    string   `json:"commit"`
	Hours     float64  `json:"hours"`
	Seed      uint64   `json:"seed"`
	Cores     int      `json:"cores"`
	Go        string   `json:"go"`
	System    string   `json:"system"`
	Campaigns []result `json:"campaigns"`
}

// result is what one campaign has shown.
type result struct {
	Name    string         `json:"name"`
	Command string         `json:"command"`
	Minutes float64        `json:"minutes"`
	Counts  map[string]int `json:"counts"`
	Failed  bool           `json:"failed"`
	Failure []string       `json:"failure,omitempty"`
}

// counted lists the counts, the operations first.
func (r result) counted() string {
	names := slices.Sorted(maps.Keys(r.Counts))
	if i := slices.Index(names, judged); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, judged)
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %s", grouped(r.Counts[name]), name))
	}
	return strings.Join(parts, ", ")
}

func (n night) write() error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(results, n.file()), append(text, '\n'), 0o644)
}

func (n night) file() string { return n.Began.Format("2006-01-02T1504") + ".json" }

// failed are the names of the campaigns that failed.
func (n night) failed() string {
	var names []string
	for _, r := range n.Campaigns {
		if r.Failed {
			names = append(names, r.Name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "–")
}

// read returns all nights, the latest first.
func read() (all []night, err error) {
	files, err := filepath.Glob(filepath.Join(results, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range slices.Backward(files) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var n night
		if err := json.Unmarshal(text, &n); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, n)
	}
	return all, nil
}

// heading begins the page.
const heading = `# Results of the nights

<!-- Written by make night and make generate from the files beside it. -->

A file is one run of ` + "`make night`" + `, with the command, the seeds and the failures of each [campaign](../testing.md). What was
found is in the [track record](../track-record.md). [times.txt](times.txt) has the packages of ` + "`make test`" + `.
`

// sums are the campaigns of all nights, by their names, in the order of the first night that has them.
func sums(all []night) (totals []result, runs, failures map[string]int) {
	runs, failures = map[string]int{}, map[string]int{}
	for _, n := range all {
		for _, r := range n.Campaigns {
			i := slices.IndexFunc(totals, func(s result) bool { return s.Name == r.Name })
			if i < 0 {
				i = len(totals)
				totals = append(totals, result{Name: r.Name, Counts: map[string]int{}})
			}
			totals[i].Minutes += r.Minutes
			for name, count := range r.Counts {
				totals[i].Counts[name] += count
			}
			runs[r.Name]++
			if r.Failed {
				failures[r.Name]++
			}
		}
	}
	return totals, runs, failures
}

// page is the page of these nights.
func page(all []night) []byte {
	var b bytes.Buffer
	b.WriteString(heading + "\n| campaign | runs | failed | minutes | has judged |\n|---|---:|---:|---:|---|\n")
	totals, runs, failures := sums(all)
	for _, s := range totals {
		fmt.Fprintf(&b, "| %s | %d | %d | %.0f | %s |\n", s.Name, runs[s.Name], failures[s.Name], s.Minutes, s.counted())
	}
	b.WriteString("\n| night | hours | commit | failed |\n|---|---:|---|---|\n")
	for _, n := range all {
		fmt.Fprintf(&b, "| [%s](%s) | %v | %s | %s |\n", n.Began.Format("2 January 2006, 15:04 MST"), n.file(), n.Hours,
			n.Commit, n.failed())
	}
	return b.Bytes()
}

func pageFile() string { return filepath.Join(results, "README.md") }

func writePage() error {
	all, err := read()
	if err != nil {
		return err
	}
	return os.WriteFile(pageFile(), page(all), 0o644)
}

func checkPage() error {
	all, err := read()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(pageFile())
	if err != nil {
		return err
	}
	if !bytes.Equal(text, page(all)) {
		return errors.New("docs/results/README.md differs from the files beside it; run: make generate")
	}
	return nil
}

// grouped writes a number in groups of three digits.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s %03d", grouped(n/1000), n%1000)
}
