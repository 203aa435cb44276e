package fencetest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// Foreign is a process with the guards of another language. It gets a command a line, in JSON, and answers each.
// While it modifies a value it asks what the new one is.
type Foreign struct {
	Language string
	command  *exec.Cmd
	in       io.WriteCloser
	ended    chan struct{} // closed when its output has ended

	mu    sync.Mutex
	last  int
	calls map[int]chan foreignAnswer
}

// foreignCommand is a line to the process. Tokens are digits in a string: they pass no float.
type foreignCommand struct {
	ID       int               `json:"id"`
	Op       string            `json:"op"`
	Store    string            `json:"store,omitempty"`
	Address  string            `json:"address,omitempty"`
	Once     bool              `json:"once"`
	On       int               `json:"on,omitempty"`
	Resource string            `json:"resource"`
	Token    string            `json:"token,omitempty"`
	Keys     []string          `json:"keys,omitempty"`
	Value    string            `json:"value"`
	Script   string            `json:"script,omitempty"`
	TTL      float64           `json:"ttl,omitempty"` // seconds
	Fields   map[string]string `json:"fields,omitempty"`
	Failed   bool              `json:"failed,omitempty"`
}

// foreignAnswer is a line of the process.
type foreignAnswer struct {
	ID      int    `json:"id"`
	Error   string `json:"error"` // empty: it succeeded
	Detail  string `json:"detail"`
	Highest string `json:"highest"`
	Asks    bool   `json:"asks"` // what becomes of the old value; the answer comes later
	Old     string `json:"old"`
}

// ForeignFolders is the variable of the environment that names a folder of copies of the clients: java, python and
// typescript. Without it they are those beside clients/fence.
const ForeignFolders = "FENCETEST_CLIENTS"

// StartForeign starts the guards of a store that other languages have, for a package in a folder of clients/fence. They
// end with tb. names are those of the store, by language: python, typescript and java.
func StartForeign(tb testing.TB, names map[string][]string) (all []*Foreign) {
	tb.Helper()
	clients := cmp.Or(os.Getenv(ForeignFolders), "../..")
	python, node := filepath.Join(clients, "python"), filepath.Join(clients, "typescript/conformance/guards.js")
	interpreter, jars := filepath.Join(python, ".venv/bin/python"), filepath.Join(clients, "java/conformance/target/lib")
	if len(names["python"]) > 0 {
		all = append(all, startForeign(tb, "python", interpreter, "PYTHONPATH="+filepath.Join(python, "src"), interpreter,
			filepath.Join(python, "conformance/guards.py")))
	}
	if len(names["typescript"]) > 0 {
		all = append(all, startForeign(tb, "typescript", node, "NODE_OPTIONS=", "node", node))
	}
	if len(names["java"]) > 0 {
		// There are classes where they are tried instead of those of the libraries.
		all = append(all, startForeign(tb, "java", jars, "LC_ALL=C.UTF-8", "java", "-cp",
			filepath.Join(clients, "java/classes")+":"+jars+"/*", "io.github.holdfastio.conformance.Guards"))
	}
	return all
}

// startForeign starts a program, which needs a file that make test-LANGUAGE builds.
func startForeign(tb testing.TB, language, built, variable, program string, args ...string) *Foreign {
	tb.Helper()
	if _, err := os.Stat(built); err != nil {
		tb.Fatalf("%v; run: make test-%s", err, language)
	}
	f := &Foreign{Language: language, ended: make(chan struct{}), calls: map[int]chan foreignAnswer{}}
	f.command = exec.Command(program, args...)
	f.command.Env, f.command.Stderr = append(os.Environ(), variable), os.Stderr
	var wrong error
	if f.in, wrong = f.command.StdinPipe(); wrong != nil {
		tb.Fatal(wrong)
	}
	out, err := f.command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := f.command.Start(); err != nil {
		tb.Fatal(err)
	}
	go f.read(out)
	tb.Cleanup(func() {
		_ = f.command.Process.Kill()
		<-f.ended
		_ = f.command.Wait()
	})
	return f
}

func (f *Foreign) read(out io.Reader) {
	defer close(f.ended)
	const mostLine = 1 << 20
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, mostLine)
	for lines.Scan() {
		var a foreignAnswer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			fmt.Fprintf(os.Stderr, "%s wrote %q\n", f.Language, lines.Bytes())
			continue
		}
		f.mu.Lock()
		call := f.calls[a.ID]
		f.mu.Unlock()
		call <- a
	}
}

// send writes a command, and returns where its answers come.
func (f *Foreign) send(c *foreignCommand) (<-chan foreignAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	c.ID = f.last
	const answers = 64 // a modification asks again after each conflict
	f.calls[c.ID] = make(chan foreignAnswer, answers)
	return f.calls[c.ID], f.write(c)
}

func (f *Foreign) write(c *foreignCommand) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = f.in.Write(append(line, '\n'))
	return err
}

// call carries out a command. After the end of ctx a change that is asked for fails.
func (f *Foreign) call(ctx context.Context, c fence.Claim, command foreignCommand, change func(string) (string, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	command.Resource, command.Token = c.Resource, strconv.FormatUint(uint64(c.Token), 10)
	answers, err := f.send(&command)
	if err != nil {
		return err
	}
	for {
		select {
		case a := <-answers:
			if !a.Asks {
				return f.failure(c, a)
			}
			var value string
			value, err = change(a.Old)
			if wrong := f.changed(command.ID, value, err); wrong != nil {
				return wrong
			}
			if err != nil {
				<-answers
				return err
			}
		case <-f.ended:
			return fmt.Errorf("the guards in %s have ended", f.Language)
		case <-ctx.Done():
			go f.fail(command.ID, answers)
			return ctx.Err()
		}
	}
}

// fail has a change fail that nobody waits for.
func (f *Foreign) fail(id int, answers <-chan foreignAnswer) {
	for {
		select {
		case a := <-answers:
			if !a.Asks {
				return
			}
			_ = f.changed(id, "", context.Canceled)
		case <-f.ended:
			return
		}
	}
}

func (f *Foreign) changed(id int, value string, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write(&foreignCommand{ID: id, Op: "changed", Value: value, Failed: err != nil})
}

// failure returns the error that an answer says.
func (f *Foreign) failure(c fence.Claim, a foreignAnswer) error {
	kinds := map[string]error{"invalid": fence.ErrInvalid, "malformed": fence.ErrMalformed, "unknown": fence.ErrUnknown}
	switch {
	case a.Error == "":
		return nil
	case a.Error == "stale" || a.Error == "spent":
		highest, err := strconv.ParseUint(a.Highest, 10, 64)
		if err != nil || (a.Error == "spent") != (fence.Token(highest) == c.Token) {
			return fmt.Errorf("%s: %s after %q", f.Language, a.Error, a.Highest)
		}
		return fence.Refused(c, fence.Token(highest))
	case kinds[a.Error] != nil:
		return fmt.Errorf("%s: %w: %s", f.Language, kinds[a.Error], a.Detail)
	}
	return fmt.Errorf("%s: %s: %s", f.Language, a.Error, a.Detail)
}

// Open returns the guard of a store, which the process knows by a name.
func (f *Foreign) Open(tb testing.TB, store, address string, rule fence.Rule) *ForeignGuard {
	tb.Helper()
	command := foreignCommand{Op: "open", Store: store, Address: address, Once: rule == fence.Once}
	answers, err := f.send(&command)
	if err != nil {
		tb.Fatal(err)
	}
	select {
	case a := <-answers:
		if a.Error != "" {
			tb.Fatalf("%s: opening %s: %s", f.Language, store, a.Detail)
		}
	case <-f.ended:
		tb.Fatalf("the guards in %s have ended", f.Language)
	}
	return &ForeignGuard{Foreign: f, id: command.ID}
}

// ForeignGuard is a guard in another language.
type ForeignGuard struct {
	*Foreign
	id int
}

// Write writes a value by keys that it knows what to do with, and in Redis by a script, if there is one.
func (g *ForeignGuard) Write(ctx context.Context, c fence.Claim, value, script string, keys ...string) error {
	return g.call(ctx, c, foreignCommand{Op: "write", On: g.id, Value: value, Script: script, Keys: keys}, nil)
}

// Expire writes a value in Redis that expires after so many seconds.
func (g *ForeignGuard) Expire(ctx context.Context, c fence.Claim, key, value string, seconds float64) error {
	return g.call(ctx, c, foreignCommand{Op: "write", On: g.id, Value: value, TTL: seconds, Keys: []string{key}}, nil)
}

// HSet sets fields of a hash in Redis.
func (g *ForeignGuard) HSet(ctx context.Context, c fence.Claim, key string, fields map[string]string) error {
	return g.call(ctx, c, foreignCommand{Op: "hset", On: g.id, Fields: fields, Keys: []string{key}}, nil)
}

// Delete deletes a key or an object.
func (g *ForeignGuard) Delete(ctx context.Context, c fence.Claim, keys ...string) error {
	return g.call(ctx, c, foreignCommand{Op: "delete", On: g.id, Keys: keys}, nil)
}

// Verify tries the store.
func (g *ForeignGuard) Verify(ctx context.Context) error {
	return g.call(ctx, fence.Claim{Resource: "verify", Token: 1}, foreignCommand{Op: "verify", On: g.id}, nil)
}

// Raise implements fence.Marks.
func (g *ForeignGuard) Raise(ctx context.Context, c fence.Claim) error {
	return g.call(ctx, c, foreignCommand{Op: "raise", On: g.id}, nil)
}

// Modify replaces a value by what f makes of it.
func (g *ForeignGuard) Modify(ctx context.Context, c fence.Claim, key string, f func(old string) (string, error)) error {
	return g.call(ctx, c, foreignCommand{Op: "modify", On: g.id, Keys: []string{key}}, f)
}

// Store is a store as the guards of other languages reach it.
type Store struct {
	// Names are those under which the guards of a language know the store, by the language: a guard for each client.
	Names map[string][]string
	// Address returns where it is; via is that of [Subject], or returns what it gets.
	Address func(via func(addr string) string) string
	// Keys returns the keys of a resource; the first one has its value.
	Keys func(resource string) []string
	// Script writes the value in Redis.
	Script string
}

// RunForeign runs the suite with the guards of each other language, and with those of all languages in turns on the
// same resources: what one has accepted, the others refuse if it is lower. They write where the register of s does,
// which reads.
func RunForeign(t *testing.T, s Subject, store Store) {
	t.Helper()
	s.Observed = nil // they have none
	all := []Subject{s}
	for _, f := range StartForeign(t, store.Names) {
		for i, name := range store.Names[f.Language] {
			foreign := foreignSubject(f, name, store, s)
			all = append(all, foreign)
			if i == 0 {
				t.Run(f.Language, func(t *testing.T) { Run(t, foreign) })
			}
		}
	}
	t.Run("Together", func(t *testing.T) { Run(t, together(all)) })
}

// foreignSubject is s with the guards of another language.
func foreignSubject(f *Foreign, name string, store Store, s Subject) Subject {
	direct := func(addr string) string { return addr }
	open := func(tb testing.TB, rule fence.Rule, via func(string) string) Register {
		tb.Helper()
		r := &foreignRegister{Register: s.Open(tb, rule), guard: f.Open(tb, name, store.Address(via), rule), store: store}
		if _, ok := r.Register.(Modifier); ok {
			return foreignModifier{r}
		}
		return r
	}
	foreign := s
	foreign.Open = func(tb testing.TB, rule fence.Rule) Register {
		tb.Helper()
		return open(tb, rule, direct)
	}
	foreign.Marks = func(tb testing.TB, rule fence.Rule) fence.Marks {
		tb.Helper()
		return f.Open(tb, name, store.Address(direct), rule)
	}
	if s.Through != nil {
		foreign.Through = open
	}
	return foreign
}

// foreignRegister reads by a register in Go.
type foreignRegister struct {
	Register
	guard *ForeignGuard
	store Store
}

// Write implements Register.
func (r *foreignRegister) Write(ctx context.Context, c fence.Claim, value string) error {
	return r.guard.Write(ctx, c, value, r.store.Script, r.store.Keys(c.Resource)...)
}

type foreignModifier struct{ *foreignRegister }

// Modify implements Modifier.
func (m foreignModifier) Modify(ctx context.Context, c fence.Claim, f func(old string) (string, error)) error {
	return m.guard.Modify(ctx, c, m.store.Keys(c.Resource)[0], f)
}

// together is a subject whose registers and marks are those of all in turns.
func together(all []Subject) Subject {
	s := all[0]
	s.Through = nil // each language has been tried
	s.Open = func(tb testing.TB, rule fence.Rule) Register {
		tb.Helper()
		r := &turns{}
		for _, one := range all {
			r.registers = append(r.registers, one.Open(tb, rule))
		}
		if _, ok := r.registers[0].(Modifier); ok {
			return modifyingTurns{r}
		}
		return r
	}
	s.Marks = func(tb testing.TB, rule fence.Rule) fence.Marks {
		tb.Helper()
		m := &markTurns{}
		for _, one := range all {
			m.marks = append(m.marks, one.Marks(tb, rule))
		}
		return m
	}
	return s
}

// turns is registers that write one after the other. The last one has the next turn after the first.
type turns struct {
	registers []Register
	next      atomic.Int64
}

func (t *turns) turn() Register { return t.registers[int(t.next.Add(1))%len(t.registers)] }

// Write implements Register.
func (t *turns) Write(ctx context.Context, c fence.Claim, value string) error {
	return t.turn().Write(ctx, c, value)
}

// Read implements Register.
func (t *turns) Read(ctx context.Context, resource string) (string, error) {
	return t.registers[0].Read(ctx, resource)
}

type modifyingTurns struct{ *turns }

// Modify implements Modifier.
func (m modifyingTurns) Modify(ctx context.Context, c fence.Claim, f func(old string) (string, error)) error {
	own, ok := m.turn().(Modifier)
	if !ok {
		return errors.New("a register is no Modifier")
	}
	return own.Modify(ctx, c, f)
}

// markTurns is marks that are raised one after the other.
type markTurns struct {
	marks []fence.Marks
	next  atomic.Int64
}

// Raise implements fence.Marks.
func (m *markTurns) Raise(ctx context.Context, c fence.Claim) error {
	return m.marks[int(m.next.Add(1))%len(m.marks)].Raise(ctx, c)
}
