package fencetest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// TestLossesAreJudged tries guards that are wrong on purpose, and one that is right.
func TestLossesAreJudged(t *testing.T) {
	for name, test := range map[string]struct {
		driver driver
		want   map[string]string // what is found, by the name of the loss
	}{
		"Right": {driver{named: true}, nil},
		"Repeats": {driver{repeats: true, named: true}, map[string]string{
			"AnswerThenHigher":     "refused as if nothing had been written",
			"AnswerThenHigherOnce": "refused as if nothing had been written",
			"AnswerThenSameHolder": "written 2 times",
		}},
		"NotNamed": {driver{}, map[string]string{
			"AnswerThenHigher":     "not ErrUnknown",
			"AnswerThenHigherOnce": "not ErrUnknown",
			"AnswerThenSameHolder": "not ErrUnknown",
		}},
		"Believes": {driver{named: true, believes: true}, map[string]string{
			"RequestThenHigher":     "not written, and the writer got no error",
			"RequestThenHigherOnce": "not written, and the writer got no error",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := subjectOf(serveMemory(t), test.driver)
			for _, l := range losses {
				err := l.try(t, s)
				if want := test.want[l.name]; (err == nil) != (want == "") ||
					err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s: found %v, want %q", l.name, err, want)
				}
			}
		})
	}
}

func subjectOf(m *memory, d driver) Subject {
	at := func(rule fence.Rule, d driver) Register {
		d.memory, d.rule = m, rule
		return &d
	}
	return Subject{
		Open: func(_ testing.TB, rule fence.Rule) Register { return at(rule, driver{addr: m.addr, named: true}) },
		Through: func(_ testing.TB, rule fence.Rule, via func(string) string) Register {
			d.addr = via(m.addr)
			return at(rule, d)
		},
		History: func(_ testing.TB, resource string) []string { return m.history(resource) },
	}
}

// memory is a store on a TCP port, with one guarded write for each connection.
type memory struct {
	addr   string
	mu     sync.Mutex
	marks  map[string]fence.Token
	values map[string][]string
}

// request is a write, and reply the mark that has refused it, 0 if it was made.
type (
	request struct {
		fence.Claim
		Rule  fence.Rule
		Value string
	}
	reply struct{ Highest fence.Token }
)

func serveMemory(t *testing.T) *memory {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	m := &memory{addr: l.Addr().String(), marks: map[string]fence.Token{}, values: map[string][]string{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go m.serve(c)
		}
	}()
	return m
}

func (m *memory) serve(c net.Conn) {
	defer c.Close()
	var r request
	if json.NewDecoder(bufio.NewReader(c)).Decode(&r) != nil {
		return
	}
	_ = json.NewEncoder(c).Encode(m.write(r))
}

func (m *memory) write(r request) reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	if highest := m.marks[r.Resource]; r.Rule.Check(r.Claim, highest) != nil {
		return reply{highest}
	}
	m.marks[r.Resource] = r.Token
	m.values[r.Resource] = append(m.values[r.Resource], r.Value)
	return reply{}
}

func (m *memory) history(resource string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[resource]
}

// driver is a client of the memory with habits of its own.
type driver struct {
	*memory
	addr string
	rule fence.Rule
	// repeats: sends a write again when the connection breaks. named: errors are ErrUnknown then.
	// believes: takes a write for made whose connection broke.
	repeats, named, believes bool
}

func (d *driver) Read(_ context.Context, resource string) (string, error) {
	values := d.history(resource)
	if len(values) == 0 {
		return "", nil
	}
	return values[len(values)-1], nil
}

func (d *driver) Write(_ context.Context, c fence.Claim, value string) error {
	answer, err := d.ask(request{c, d.rule, value})
	if err != nil && d.repeats {
		answer, err = d.ask(request{c, d.rule, value})
	}
	switch {
	case err != nil && d.believes:
		return nil
	case err != nil && d.named:
		return errors.Join(fence.ErrUnknown, err)
	case err != nil:
		return err
	case answer.Highest > 0:
		return fence.Refused(c, answer.Highest)
	}
	return nil
}

func (d *driver) ask(r request) (answer reply, err error) {
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		return reply{}, err
	}
	defer c.Close()
	if err := json.NewEncoder(c).Encode(r); err != nil {
		return reply{}, err
	}
	return answer, json.NewDecoder(c).Decode(&answer)
}
