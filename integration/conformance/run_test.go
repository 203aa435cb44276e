package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/messages"
)

// run is a case that is being run.
type run struct {
	*testing.T
	c      *testCase
	d      *deployment
	proxy  *proxy.Proxy
	driver *driver
	vars   vars
	// commands and asked are what was not waited for, by its id.
	commands map[string]*command
	asked    map[string]*asked
	// open are the clients that are not closed.
	open map[string]bool
	// owners are those of all clients of the case but of those that could not be closed as a step wanted.
	owners map[string]bool
}

// asked is a request to the service that is under way.
type asked struct {
	done   chan struct{} // closed when there is a reply, or none will come
	reply  any
	err    error
	cancel context.CancelFunc
}

// runCase runs a case with a driver of the pool, unless its client lacks what the case needs.
func runCase(t *testing.T, c *testCase, shared *deployment, drivers *pool) {
	t.Helper()
	driver := drivers.take(t)
	if c.Needs != "" {
		drivers.mustHave(t, driver, c.Needs)
	}
	r := &run{
		T: t, c: c, d: shared, vars: vars{}, commands: map[string]*command{}, asked: map[string]*asked{},
		open: map[string]bool{}, owners: map[string]bool{},
	}
	if c.Nodes > 0 {
		r.d = newDeployment(t, c.Nodes, c.LastToken, c.Flags...)
	}
	r.proxy = proxy.New(t, r.d.url)
	r.driver = driver
	for i, s := range c.Steps {
		if err := r.step(s); err != nil {
			t.Fatalf("%s\nstep %d %s\n%v", c.Says, i+1, compact(s), err)
		}
	}
	if err := r.finish(); err != nil {
		t.Fatalf("%s\nbehind the last step: %v", c.Says, err)
	}
	ctx, cancel := stepContext(t)
	defer cancel()
	for _, err := range r.violations(ctx) {
		t.Errorf("%s\n%v", c.Says, err)
	}
}

// compact returns a step on one line.
func compact(s *step) string {
	data, err := json.Marshal(s.raw)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// step runs a step.
func (r *run) step(s *step) error {
	r.Helper()
	ctx, cancel := stepContext(r.T)
	defer cancel()
	switch {
	case s.Call != "":
		return r.call(ctx, s)
	case s.Ask != "":
		return r.ask(ctx, s)
	case s.Await != "":
		return r.await(ctx, s)
	case s.Cancel != "":
		c, err := r.driver.send(s, map[string]any{"call": "cancel", "of": r.commands[s.Cancel].id})
		if err != nil {
			return err
		}
		return r.answered(ctx, s, c)
	case s.Fault != nil:
		r.proxy.Add(s.Fault.rule())
	case s.Deliver:
		r.proxy.Deliver()
	case s.Connection != "":
		map[string]func(){
			"cut": r.proxy.Cut, "sever": r.proxy.Sever, "blackhole": r.proxy.Blackhole, "resume": r.proxy.Reopen,
		}[s.Connection]()
	case s.Heal:
		r.proxy.Resume()
	case s.Node != "":
		r.d.nodes[s.Number-1].do(r.T, s.Node)
	case s.Reshard > 0:
		return r.d.reshard(ctx, r.T, s.Reshard)
	case s.Until != nil:
		return r.until(ctx, s.Until)
	}
	return nil
}

func (f *fault) rule() proxy.Rule {
	rule := proxy.Rule{Op: f.Op, Times: f.Times}
	rule.Verdict = map[string]proxy.Verdict{"lose": proxy.Lose, "double": proxy.Double, "hold": proxy.Keep,
		"forge": proxy.Forge}[f.What]
	rule.Forge = func(body []byte) []byte { return forged(body, f.Reply) }
	rule.Direction = map[string]proxy.Direction{"requests": proxy.Requests, "answers": proxy.Answers,
		"notices": proxy.Notices}[f.Of]
	return rule
}

// forged returns a reply with other members, in its own encoding.
func forged(body, members []byte) []byte {
	reply := &messages.Reply{}
	isJSON := bytes.HasPrefix(body, []byte("{"))
	if isJSON && protojson.Unmarshal(body, reply) != nil || !isJSON && proto.Unmarshal(body, reply) != nil {
		return body
	}
	other := &messages.Reply{}
	if err := protojson.Unmarshal(members, other); err != nil {
		panic(err)
	}
	proto.Merge(reply, other)
	var err error
	if isJSON {
		body, err = protojson.MarshalOptions{UseProtoNames: true}.Marshal(reply)
	} else {
		body, err = proto.Marshal(reply)
	}
	if err != nil {
		panic(err)
	}
	return body
}

// call sends a command to the driver.
func (r *run) call(ctx context.Context, s *step) error {
	members := map[string]any{}
	for name, raw := range s.raw {
		if name == "as" || name == "expect" || name == "error" {
			continue
		}
		value, err := r.vars.read(raw)
		if err != nil {
			return err
		}
		members[name] = value
	}
	if s.Call == "open" {
		r.addressed(members)
		r.open[s.Client] = true
	}
	if s.Call == "close" {
		delete(r.open, s.Client)
	}
	c, err := r.driver.send(s, members)
	if err != nil {
		return err
	}
	if s.detached {
		r.commands[s.As] = c
		return nil
	}
	return r.answered(ctx, s, c)
}

// addressed adds to the command open where the service is, and who logs in.
func (r *run) addressed(members map[string]any) {
	members["url"] = r.proxy.URL()
	if members["user"] == nil {
		members["user"] = singleUser
		if r.c.Batch {
			members["user"] = batchUser
		}
	}
	if members["password"] == nil {
		members["password"] = password
	}
}

// answered waits for the answer to a command, and compares it.
func (r *run) answered(ctx context.Context, s *step, c *command) error {
	a, err := r.driver.wants(ctx, c)
	if err != nil {
		return err
	}
	r.note(c.step, a.ok)
	if c.step.Call == "open" && a.err != nil {
		delete(r.open, c.step.Client)
	}
	if c.step.Call == "close" && a.err != nil { // what it held may run out
		if opened, ok := r.vars[c.step.Client].(map[string]any); ok {
			delete(r.owners, fmt.Sprint(opened["owner"]))
		}
	}
	return r.compare(s, a)
}

// note notes a result for the steps to come.
func (r *run) note(s *step, result any) {
	if result == nil {
		return
	}
	if members, ok := result.(map[string]any); ok && s.Call == "open" {
		r.vars[s.Client] = result
		r.owners[fmt.Sprint(members["owner"])] = true
	}
	if s.Call == "acquire" || s.Call == "acquire_all" || s.Call == "campaign" {
		r.vars[s.Lock] = result
	}
	if s.As != "" {
		r.vars[s.As] = result
	}
}

// compare compares an answer with what a step expects.
func (r *run) compare(s *step, a answer) error {
	if s.Error != nil {
		want, err := r.vars.read(s.Error)
		if err != nil {
			return err
		}
		if code, ok := want.(string); ok {
			want = map[string]any{"code": code}
		}
		if a.err == nil {
			return fmt.Errorf("want the error %s, got %s", text(want), text(a.ok))
		}
		if err := match(want, a.err); err != nil {
			return fmt.Errorf("the error %s is another one: %w", text(a.err), err)
		}
		return nil
	}
	if a.err != nil {
		return fmt.Errorf("got the error %s", text(a.err))
	}
	want, err := r.vars.read(s.Expect)
	if err != nil || want == nil {
		return err
	}
	if err := match(want, a.ok); err != nil {
		return fmt.Errorf("the result %s is another one: %w", text(a.ok), err)
	}
	return nil
}

// ask sends a request past the proxy.
func (r *run) ask(ctx context.Context, s *step) error {
	name, err := r.vars.fillText(s.Name)
	if err != nil {
		return err
	}
	body, err := r.vars.read(s.Body)
	if err != nil {
		return err
	}
	var payload []byte
	if body != nil {
		payload = []byte(text(body))
	}
	under, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &asked{done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(a.done)
		a.reply, a.err = r.d.ask(under, s.Ask, fmt.Sprint(name), payload)
		at := now()
		if a.err == nil && s.Ask == "acquire" {
			a.err = r.granted(a.reply, at)
		}
	}()
	r.Cleanup(func() {
		cancel()
		<-a.done
	})
	if s.detached {
		r.asked[s.As] = a
		return nil
	}
	return r.replied(ctx, s, s, a)
}

// granted notes the grant that a reply has.
func (r *run) granted(reply any, at int64) error {
	var granted struct {
		Status string
		Lease  struct {
			Resource, Owner, Token string
			Limit                  uint32
		}
	}
	if err := json.Unmarshal([]byte(text(reply)), &granted); err != nil || granted.Status != "GRANTED" {
		return err
	}
	l := granted.Lease
	return r.d.grants.tell(leaseID{l.Resource, l.Token}, l.Owner, l.Limit > 0, at)
}

// replied waits for the reply to a request of one step, and compares it with what another one expects.
func (r *run) replied(ctx context.Context, request, s *step, a *asked) error {
	select {
	case <-a.done:
	case <-ctx.Done():
		a.cancel()
		return fmt.Errorf("no reply came within %v", patience)
	}
	if a.err != nil {
		return a.err
	}
	r.note(request, a.reply)
	return r.compare(s, answer{ok: a.reply})
}

// await waits for what an earlier step has not waited for.
func (r *run) await(ctx context.Context, s *step) error {
	if c := r.commands[s.Await]; c != nil {
		return r.answered(ctx, s, c)
	}
	for _, request := range r.c.Steps {
		if request.As == s.Await {
			return r.replied(ctx, request, s, r.asked[s.Await])
		}
	}
	return nil
}

// until waits for a state.
func (r *run) until(ctx context.Context, u *until) error {
	switch {
	case u.Lost != "":
		return r.driver.noted(ctx, map[string]any{"note": "lost", "lock": u.Lost})
	case u.Event != "":
		return r.driver.noted(ctx, map[string]any{"note": "event", "kind": u.Event, "name": u.Name})
	case u.Leader != "":
		return r.driver.noted(ctx, map[string]any{"note": "leader", "watch": u.Leader, "value": *u.Value})
	case u.Sent != "":
		return eventually(ctx, func() error {
			if n := r.proxy.Count(u.Sent); n < *u.Count {
				return fmt.Errorf("%s was sent %d times, and not %d", u.Sent, n, *u.Count)
			}
			return nil
		})
	case u.Cached != "":
		return r.untilCache(ctx, u.Cached, "leases", *u.Count)
	case u.Queued != "":
		return r.untilCache(ctx, u.Queued, "waiting", *u.Count)
	case u.Waiting != "":
		return r.untilState(ctx, u.Waiting, func(s state) bool { return s.Waiting == *u.Count })
	case u.Held != "":
		return r.untilState(ctx, u.Held, func(s state) bool { return len(s.Holders) > 0 })
	}
	return r.untilState(ctx, u.Free, func(s state) bool { return len(s.Holders) == 0 })
}

// lookTimeout is how long one look waits for its answer: a request that a node took with it when it was killed gets
// none, and has to be sent again.
const lookTimeout = 2 * time.Second

// untilState waits for a state of a resource.
func (r *run) untilState(ctx context.Context, name string, is func(state) bool) error {
	return eventually(ctx, func() error {
		look, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		s, err := r.d.get(look, name)
		if err == nil && !is(s) {
			err = fmt.Errorf("%s is %+v", name, s)
		}
		return err
	})
}

// untilCache waits until a number that a client shows of its cache is count.
func (r *run) untilCache(ctx context.Context, client, number string, count int) error {
	want := map[string]any{number: json.Number(strconv.Itoa(count))}
	return eventually(ctx, func() error {
		c, err := r.driver.send(&step{stepMembers: stepMembers{Call: "cache", Client: client}},
			map[string]any{"call": "cache", "client": client})
		if err != nil {
			return err
		}
		a, err := r.driver.wants(ctx, c)
		if err == nil && a.err != nil {
			err = fmt.Errorf("the cache of %q: %s", client, text(a.err))
		}
		if err != nil {
			return err
		}
		return match(want, a.ok)
	})
}

// eventually looks until there is no error, and returns the last one.
func eventually(ctx context.Context, look func() error) error {
	for {
		err := look()
		if err == nil {
			return nil
		}
		if pause(ctx) != nil {
			return err
		}
	}
}

// finish heals everything and closes the clients.
func (r *run) finish() error {
	r.Helper()
	r.proxy.Resume()
	r.d.recover(r.T)
	ctx, cancel := stepContext(r.T)
	defer cancel()
	begun := now()
	closed, err := r.closeClients(ctx)
	if err != nil {
		return err
	}
	if err := r.driver.wait(ctx, func() bool {
		return !slices.ContainsFunc(r.driver.commands, func(c *command) bool { return c.came == 0 })
	}); err != nil {
		return fmt.Errorf("not every command was answered: %w", err)
	}
	return r.free(ctx, begun, closed)
}

// closeClients closes the clients that are open. closed: each of them has released everything, and waits for nothing. A
// client that has a short timeout may not know that yet.
func (r *run) closeClients(ctx context.Context) (closed bool, err error) {
	var closing []*command
	for _, name := range slices.Sorted(maps.Keys(r.open)) {
		c, err := r.driver.send(&step{stepMembers: stepMembers{Call: "close", Client: name}},
			map[string]any{"call": "close", "client": name})
		if err != nil {
			return false, err
		}
		closing = append(closing, c)
	}
	closed = true
	for _, c := range closing {
		a, err := r.driver.wants(ctx, c)
		if err == nil && a.err != nil {
			closed, err = false, match(map[string]any{"code": "unknown"}, a.err)
		}
		if err != nil {
			return false, fmt.Errorf("close %q, when everything is healed: %w", c.step.Client, err)
		}
	}
	return closed, nil
}
