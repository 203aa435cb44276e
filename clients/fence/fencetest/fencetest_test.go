package fencetest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// TestMemory runs the suite against the plainest guard there is.
func TestMemory(t *testing.T) {
	s := &store{marks: map[string]fence.Token{}, values: map[string][]string{}}
	fencetest.Run(t, fencetest.Subject{
		Open:     func(_ testing.TB, rule fence.Rule) fencetest.Register { return &guarded{store: s, rule: rule} },
		Observed: func(_ testing.TB, o fence.Observer) fencetest.Register { return &guarded{store: s, observer: o} },
		Marks:    func(_ testing.TB, rule fence.Rule) fence.Marks { return &guarded{store: s, rule: rule} },
		Restart:  func(testing.TB) {},
		History:  func(_ testing.TB, resource string) []string { return s.values[resource] },
	})
}

type store struct {
	mu     sync.Mutex
	marks  map[string]fence.Token
	values map[string][]string
}

type guarded struct {
	*store
	rule     fence.Rule
	observer fence.Observer
}

func (g *guarded) Write(ctx context.Context, c fence.Claim, value string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.raise(ctx, c); err != nil {
		return err
	}
	g.values[c.Resource] = append(g.values[c.Resource], value)
	return nil
}

func (g *guarded) Read(_ context.Context, resource string) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	values := g.values[resource]
	if len(values) == 0 {
		return "", nil
	}
	return values[len(values)-1], nil
}

func (g *guarded) Raise(ctx context.Context, c fence.Claim) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.raise(ctx, c)
}

func (g *guarded) raise(ctx context.Context, c fence.Claim) (err error) {
	defer g.observer.Conclude("example", c, &err)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := g.rule.Check(c, g.marks[c.Resource]); err != nil {
		return err
	}
	g.marks[c.Resource] = c.Token
	return nil
}
