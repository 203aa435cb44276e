//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNoEvidence is why a fault does not count: nothing shows that it has happened.
var ErrNoEvidence = errors.New("no evidence that it happened")

// ErrCannot is why a fault is not tried: the world has nothing of the kind.
var ErrCannot = errors.New("this cannot go wrong here")

// Fault is something that can go wrong: a value, which can be drawn, printed and repeated.
type Fault struct {
	Kind Kind
	// Nodes are those whom it hits. See the kind for how many; where it hits all, there are none.
	Nodes []string
	// Rate is the share of frames of Lose, Duplicate and Reset.
	Rate float64
	// Delay of frames or of fsync, or of the end of the command of Reshard (0: it is not killed), and by how much it varies.
	Delay, Jitter time.Duration
	// Files are those that FlipBit and Truncate damage, one of [StoredFiles]; Seed draws where.
	Files string
	Seed  uint64
	// Shards is the number that Reshard changes to.
	Shards int
}

// String returns all of it in a few words.
func (f Fault) String() string {
	words := append([]string{string(f.Kind)}, f.Nodes...)
	if f.Rate > 0 {
		words = append(words, fmt.Sprintf("%.3g%%", f.Rate*100))
	}
	if f.Delay > 0 {
		words = append(words, f.Delay.String())
	}
	if f.Jitter > 0 {
		words = append(words, "±"+f.Jitter.String())
	}
	if f.Files != "" {
		words = append(words, fmt.Sprintf("%s (%d)", f.Files, f.Seed))
	}
	if f.Shards > 0 {
		words = append(words, fmt.Sprintf("to %d", f.Shards))
	}
	return strings.Join(words, " ")
}

// Proof is what shows that a fault has happened.
type Proof struct {
	Fault    Fault
	Begun    time.Time
	Lasted   time.Duration
	Evidence string
}

// String returns what happened.
func (p Proof) String() string {
	return fmt.Sprintf("%s for %v: %s", p.Fault, p.Lasted.Round(time.Millisecond), p.Evidence)
}

// Injected is a fault that goes on until it is healed.
type Injected struct {
	fault Fault
	begun time.Time
	c     *Cluster
	heal  heal
	hurt  []*node
}

// heal ends a fault and returns what shows that it has happened. It heals as far as it can also if it fails.
type heal func(context.Context) (evidence string, err error)

// Inject begins a fault. A fault of a process or a disk waits for an earlier one of the same node.
func (c *Cluster) Inject(ctx context.Context, f Fault) (*Injected, error) {
	i, err := c.inject(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f, err)
	}
	return i, nil
}

func (c *Cluster) inject(ctx context.Context, f Fault) (*Injected, error) {
	r, ok := recipes[f.Kind]
	if !ok {
		return nil, fmt.Errorf("there is no such kind; there are %q", Kinds())
	}
	if err := c.can(r.need); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannot, err)
	}
	if !c.Can(f.Kind) {
		return nil, fmt.Errorf("%w: the commands of the operator are for nodes of this version, without accounts", ErrCannot)
	}
	hit, err := c.targets(f, r)
	if err != nil {
		return nil, err
	}
	i := &Injected{fault: f, c: c}
	for _, n := range hit {
		if r.need == networks || r.shares {
			break
		}
		if err := n.occupy(ctx); err != nil {
			i.vacate()
			return nil, err
		}
		i.hurt = append(i.hurt, n)
	}
	i.begun = time.Now()
	if i.heal, err = r.begin(ctx, c, f, hit); err != nil {
		i.vacate()
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active[i] = struct{}{}
	return i, nil
}

// targets returns whom the fault hits: those that it names, or all.
func (c *Cluster) targets(f Fault, r recipe) ([]*node, error) {
	if len(f.Nodes) != r.nodes {
		return nil, fmt.Errorf("it hits %d nodes by name, not %d", r.nodes, len(f.Nodes))
	}
	if r.nodes == 0 {
		return c.all(), nil
	}
	var hit []*node
	for _, name := range f.Nodes {
		n, err := c.node(name)
		if err != nil {
			return nil, err
		}
		hit = append(hit, n)
	}
	return hit, nil
}

// Heal ends the fault. The error is [ErrNoEvidence] if nothing shows that it has happened. It is called once,
// and does not wait until the cluster is healthy.
func (i *Injected) Heal(ctx context.Context) (Proof, error) {
	i.c.mu.Lock()
	_, active := i.c.active[i]
	delete(i.c.active, i)
	i.c.mu.Unlock()
	if !active {
		return Proof{}, fmt.Errorf("%s: healed already", i.fault)
	}
	defer i.vacate()
	p := Proof{Fault: i.fault, Begun: i.begun, Lasted: time.Since(i.begun)}
	var err error
	if p.Evidence, err = i.heal(ctx); err != nil {
		return Proof{}, fmt.Errorf("heal %s: %w", i.fault, err)
	}
	return p, nil
}

func (i *Injected) vacate() {
	for _, n := range i.hurt {
		n.vacate()
	}
}

// healAll ends what is left at the end. Whether it happened does not matter any more.
func (c *Cluster) healAll(ctx context.Context) {
	c.mu.Lock()
	var left []*Injected
	for i := range c.active {
		left = append(left, i)
	}
	c.mu.Unlock()
	for _, i := range left {
		_, _ = i.Heal(ctx)
	}
}
