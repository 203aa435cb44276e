package stand

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/messages/porttest"
)

// Members are the nodes of a cluster on this host, each a process of the real binary with its own NATS
// server in it.
type Members struct {
	All []*Member
}

// StartMembers starts n nodes, n1 and so on, that keep the locks on as many servers, up to three, and
// returns when all are ready. args are more flags. They end with the test.
func StartMembers(tb testing.TB, n int, args ...string) *Members {
	tb.Helper()
	m := NewMembers(tb, n, args...)
	for _, member := range m.All {
		member.Start()
	}
	for _, member := range m.All {
		member.WaitReady()
	}
	return m
}

// NewMembers returns nodes that are still to be started.
func NewMembers(tb testing.TB, n int, args ...string) *Members {
	tb.Helper()
	addresses := porttest.Free(tb, 2*n)
	routes := addresses[n:]
	m := &Members{}
	for i := range n {
		member := newMember(tb, fmt.Sprintf("n%d", i+1), addresses[i])
		member.Args = append(member.Args,
			"--cluster-listen", routes[i], "--routes", strings.Join(routes, ","), "--replicas", fmt.Sprint(min(n, 3)))
		member.Args = append(member.Args, args...)
		m.All = append(m.All, member)
	}
	return m
}

// NewGrowing returns nodes that are still to be started, one after the other: each knows those before it,
// the first only itself, and the last asks for as many replicas as there are nodes, up to three.
func NewGrowing(tb testing.TB, n int, args ...string) *Members {
	tb.Helper()
	m := NewMembers(tb, n, args...)
	for i, member := range m.All {
		member.KnowsFirst(i + 1)
		if i < n-1 {
			member.Args[1+slices.Index(member.Args, "--replicas")] = "1"
		}
	}
	return m
}

// URLs are where clients find all of them, separated by commas.
func (m *Members) URLs() string {
	var urls []string
	for _, member := range m.All {
		urls = append(urls, member.URL)
	}
	return strings.Join(urls, ",")
}

// Routes are where they find one another, separated by commas.
func (m *Members) Routes() string {
	return strings.Join(m.All[len(m.All)-1].routes(), ",")
}

// routes are those that the member knows.
func (m *Member) routes() []string {
	return strings.Split(m.Args[1+slices.Index(m.Args, "--routes")], ",")
}

// KnowsFirst lets the member know the routes to the first n alone.
func (m *Member) KnowsFirst(n int) {
	m.Args[1+slices.Index(m.Args, "--routes")] = strings.Join(m.routes()[:n], ",")
}
