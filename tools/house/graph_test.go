package main

import (
	"slices"
	"strings"
	"testing"
)

func graphOf(arrows string) graph {
	g := make(graph)
	for a := range strings.FieldsSeq(arrows) {
		g.add(a[:1], a[1:])
	}
	return g
}

func TestCircles(t *testing.T) {
	for arrows, want := range map[string]string{
		"ab bc":             "",
		"ab ba bc":          "ab",
		"ab bc ca cd de ed": "abc de",
		"aa ab":             "",
	} {
		var got []string
		for _, c := range graphOf(arrows).circles() {
			got = append(got, strings.Join(c, ""))
		}
		slices.Sort(got)
		if joined := strings.Join(got, " "); joined != want {
			t.Errorf("the circles of %s are %q, want %q", arrows, joined, want)
		}
	}
}

func TestBack(t *testing.T) {
	for arrows, want := range map[string]int{
		"ab bc ac":             0,
		"ab ba":                1,
		"ab bc ca":             1,
		"ab ba bc cb ac ca":    3,
		"ab bc cd da ac bd":    1,
		"ab ac ad ba ca da bc": 3,
	} {
		if got := graphOf(arrows).back(); len(got) != want {
			t.Errorf("%s: %d arrows back, want %d: %v", arrows, len(got), want, got)
		}
	}
}

func TestKinds(t *testing.T) {
	for name, want := range map[string]kind{
		"actors/term.go":                                            product,
		"actors/term_test.go":                                       test,
		"actors/journaltest/memory.go":                              support,
		"integration/stand/stand.go":                                support,
		"messages/holdfast.pb.go":                                   generated,
		"tools/house/main.go":                                       tooling,
		"clients/typescript/src/lock.ts":                            language,
		"clients/typescript/test/lock.ts":                           other,
		"clients/python/src/holdfast/_l.py":                         language,
		"clients/python/src/LICENSE":                                other,
		"clients/java/holdfast-junit/src/main/java/Server.java":     language,
		"clients/java/holdfast-junit/src/test/java/ServerTest.java": other,
		"clients/java/conformance/src/main/java/Driver.java":        other,
		"clients/internal/testserver/run.go":                        support,
		"README.md":                                                 other,
	} {
		if got := kindOf(name); got != want {
			t.Errorf("%s is of kind %d, want %d", name, got, want)
		}
	}
}
