package conformance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/messages"
)

// caseFile is a file of cases.
type caseFile struct {
	name  string
	cases []*testCase
}

// testCase is a case. At its end the runner ends faults, lets nodes run, and closes clients.
type testCase struct {
	Name string `json:"name"`
	// Says is what the case requires.
	Says string `json:"says"`
	// Nodes is how many nodes the case has of its own; 0: it runs on the shared one, where names of resources are unique
	// among all cases. Flags are theirs.
	Nodes int      `json:"nodes"`
	Flags []string `json:"flags"`
	// LastToken is behind which the tokens of these nodes go on.
	LastToken holdfast.Token `json:"last_token,string"`
	// Batch: the user of the drivers may send batches. Without it a fault meets one operation.
	Batch bool `json:"batch"`
	// Needs is what a client may lack: its driver then does not run the case; empty: nothing.
	Needs string  `json:"needs"`
	Steps []*step `json:"steps"`
}

// step is a step of a case.
type step struct {
	stepMembers
	// raw are its members as they were written.
	raw map[string]json.RawMessage
	// detached: a later step waits for its answer.
	detached bool
}

type stepMembers struct {
	// Exactly one of these says what the step does.

	// Call is a command to the driver. Without Expect and Error it must succeed.
	Call string `json:"call"`
	// Ask sends a request of docs/wire.md, with Body, about Name, past the proxy.
	Ask string `json:"ask"`
	// Await waits for the answer to the step with this As.
	Await string `json:"await"`
	// Cancel cancels the call with this As in the way of the language.
	Cancel string `json:"cancel"`
	Fault  *fault `json:"fault"`
	// Deliver delivers what was held.
	Deliver bool `json:"deliver"`
	// Connection is cut: connections break; sever: new ones are refused, too; blackhole: all is lost; both until resume.
	Connection string `json:"connection"`
	// Heal ends all faults but what is held.
	Heal bool `json:"heal"`
	// Node is kill, stop, start, restart, pause or continue, of node Number.
	Node string `json:"node"`
	// Reshard gives the deployment this number of shards, and waits.
	Reshard uint32 `json:"reshard"`
	Until   *until `json:"until"`

	// As is a name of the step, for which the runner then does not wait.
	As string `json:"as"`
	// Expect is a part of the result: an object may have more members, a list has just these elements, "*" is any value,
	// null a member that is missing.
	Expect json.RawMessage `json:"expect"`
	// Error is the code or a part of the error.
	Error  json.RawMessage `json:"error"`
	Number int             `json:"number"`

	Body      json.RawMessage   `json:"body"`
	Client    string            `json:"client"`
	Lock      string            `json:"lock"`
	Name      string            `json:"name"`
	Owner     string            `json:"owner"`
	TTL       int64             `json:"ttl_ms"`
	Timeout   int64             `json:"timeout_ms"`
	Wait      int64             `json:"wait_ms"`
	Sessions  bool              `json:"sessions"`
	User      string            `json:"user"`
	Secret    string            `json:"secret"`
	Password  string            `json:"password"`
	Own       bool              `json:"own"`
	Prefix    string            `json:"prefix"`
	Mode      string            `json:"mode"`
	Permits   int64             `json:"permits"`
	Limit     int64             `json:"limit"`
	Metadata  map[string]string `json:"metadata"`
	Ephemeral bool              `json:"ephemeral"`
	Renew     bool              `json:"renew"`
	MinHold   int64             `json:"min_hold_ms"`
	MaxHold   int64             `json:"max_hold_ms"`
	Cached    int64             `json:"cached_ms"`
	Millis    int64             `json:"ms"`
	Watch     string            `json:"watch"`
	Pattern   string            `json:"pattern"`
	Shards    uint32            `json:"shards"`
	Token     string            `json:"token"`

	Names      []string `json:"names"`
	Delay      int64    `json:"delay_ms"`
	Confirm    bool     `json:"confirm"`
	Reentrant  bool     `json:"reentrant"`
	Disconnect int64    `json:"disconnect_ms"`
	Value      string   `json:"value"`
	Reason     string   `json:"reason"`
	By         string   `json:"by"`
	How        string   `json:"how"`
}

// fault is what becomes of messages from now on. The first one that applies to a message counts.
type fault struct {
	// What is lose, double, hold (until a step delivers) or forge.
	What string `json:"what"`
	// Of is requests, answers or notices.
	Of string `json:"of"`
	// Op is the operation; empty: of all.
	Op string `json:"op"`
	// Times is how many messages; 0: all.
	Times int `json:"times"`
	// Reply has the members that a forged answer has in the place of those of the true one.
	Reply json.RawMessage `json:"reply"`
}

// until is a state that a step waits for: Held and Free, the name of a resource; Waiting, a name with Count requests that
// wait; Sent, an operation that was sent Count times; Lost, a lock; Event, a kind, of Name; Leader, an observation that has
// yielded Value; Cached and Queued, a client with Count of them.
type until struct {
	Held    string `json:"held"`
	Free    string `json:"free"`
	Waiting string `json:"waiting"`
	Sent    string `json:"sent"`
	Lost    string `json:"lost"`
	Event   string `json:"event"`
	Leader  string `json:"leader"`
	Cached  string `json:"cached"`
	Queued  string `json:"queued"`
	Name    string `json:"name"`
	Count   *int   `json:"count"`
	// Value is what the leader publishes; empty: nobody leads.
	Value *string `json:"value"`
}

// kinds has the members that a step of each kind may have beside the one that names it.
var kinds = map[string][]string{
	"call": {"as", "expect", "error"}, // and those of the call
	"ask":  {"name", "body", "as", "expect", "error"}, "await": {"expect", "error"}, "cancel": {}, "fault": {},
	"deliver":    {},
	"connection": {}, "heal": {}, "node": {"number"}, "reshard": {}, "until": {},
}

var terms = []string{
	"ttl_ms", "wait_ms", "mode", "permits", "limit", "metadata", "ephemeral", "renew", "min_hold_ms", "max_hold_ms",
	"cached_ms", "delay_ms", "confirm", "reentrant",
}

// capabilities are what a client may lack.
var capabilities = []string{"several", "election", "delay", "break", "disconnect", "reentrant"}

// calls has the members of each call.
var calls = map[string][]string{
	"open": {"client", "owner", "ttl_ms", "timeout_ms", "sessions", "user", "password", "secret", "own", "prefix",
		"cached_ms", "disconnect_ms"},
	"close": {"client"}, "cache": {"client"}, "wanted": {"lock"},
	"acquire": append([]string{"client", "lock", "name"}, terms...), "release": {"lock"}, "extend": {"lock", "ttl_ms"},
	"set": {"lock", "metadata"}, "state": {"lock"},
	"within": append([]string{"client", "lock", "name", "ms"}, terms...),
	"get":    {"client", "name"}, "watch": {"client", "watch", "pattern"}, "unwatch": {"watch"},
	"key": {"name"}, "shard": {"name", "shards"}, "fence": {"token"},
	"acquire_all": append([]string{"client", "lock", "names"}, terms...),
	"within_all":  append([]string{"client", "lock", "names", "ms"}, terms...),
	"campaign":    append([]string{"client", "lock", "name", "value"}, terms...), "proclaim": {"lock", "value"},
	"leader": {"client", "name"}, "observe": {"client", "watch", "name"},
	"break": {"client", "name", "token", "reason"}, "confirm": {"client", "name", "token", "by", "how"},
}

// choices are the values that a member may have.
var choices = map[string][]string{
	"what": {"lose", "double", "hold", "forge"}, "of": {"requests", "answers", "notices"},
	"connection": {"cut", "sever", "blackhole", "resume"},
	"node":       {"kill", "stop", "start", "restart", "pause", "continue"}, "mode": {"", "exclusive", "shared"},
}

// UnmarshalJSON decodes a step and refuses what its kind does not have.
func (s *step) UnmarshalJSON(data []byte) error {
	if err := decode(data, &s.stepMembers); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &s.raw); err != nil {
		return err
	}
	return s.check()
}

// kind returns the member that names what the step does.
func (s *step) kind() (kind string, err error) {
	for member := range s.raw {
		if _, ok := kinds[member]; ok {
			if kind != "" {
				return "", fmt.Errorf("a step does one thing, and this has %q and %q", min(kind, member),
					max(kind, member))
			}
			kind = member
		}
	}
	if kind == "" {
		return "", fmt.Errorf("a step has one of %q", slices.Sorted(maps.Keys(kinds)))
	}
	return kind, nil
}

func (s *step) check() error {
	kind, err := s.kind()
	if err != nil {
		return err
	}
	allowed := append([]string{kind}, kinds[kind]...)
	if kind == "call" {
		members, ok := calls[s.Call]
		if !ok {
			return fmt.Errorf("%q is no call: there are %q", s.Call, slices.Sorted(maps.Keys(calls)))
		}
		allowed = append(allowed, members...)
	}
	for member := range s.raw {
		if !slices.Contains(allowed, member) {
			return fmt.Errorf("%q does not belong to this step: it may have %q", member, allowed)
		}
	}
	if s.Expect != nil && s.Error != nil {
		return errors.New(`"expect" and "error" exclude each other`)
	}
	if kind == "ask" && s.Name == "" && s.Ask != "list" && s.Ask != "info" {
		return errors.New(`"ask" needs "name"`)
	}
	if kind == "reshard" && s.Reshard == 0 {
		return errors.New(`"reshard" is the next number of shards, 1 or more`)
	}
	for _, err := range []error{
		oneOf("connection", s.Connection, kind == "connection"), oneOf("node", s.Node, kind == "node"),
		oneOf("mode", s.Mode, true),
		s.Fault.check(), s.Until.check(),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *fault) check() error {
	if f == nil {
		return nil
	}
	if f.Times < 0 {
		return errors.New(`"times" is 0, which is all, or more`)
	}
	if (f.What == "forge") != (f.Reply != nil) || f.What == "forge" && f.Of != "answers" {
		return errors.New(`"forge" is of answers, and only it has "reply"`)
	}
	if f.Of == "notices" && f.Op != "" {
		return errors.New(`"op" belongs to requests and answers`)
	}
	return errors.Join(oneOf("what", f.What, true), oneOf("of", f.Of, true))
}

func (u *until) check() error {
	if u == nil {
		return nil
	}
	given := 0
	for _, value := range []string{u.Held, u.Free, u.Waiting, u.Sent, u.Lost, u.Event, u.Leader, u.Cached, u.Queued} {
		if value != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New(`"until" has one of "held", "free", "waiting", "sent", "lost", "event", "leader", "cached", "queued"`)
	case (u.Count != nil) != (u.Waiting+u.Sent+u.Cached+u.Queued != ""):
		return errors.New(`"count" belongs to "waiting", "sent", "cached" and "queued"`)
	case (u.Name != "") != (u.Event != ""):
		return errors.New(`"name" belongs to "event"`)
	case (u.Value != nil) != (u.Leader != ""):
		return errors.New(`"value" belongs to "leader"`)
	}
	return nil
}

func oneOf(member, value string, given bool) error {
	if given && !slices.Contains(choices[member], value) {
		return fmt.Errorf("%q is one of %q, not %q", member, choices[member], value)
	}
	return nil
}

// decode decodes a value, which has no unknown members.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the value")
	}
	return nil
}

// loadCases returns the cases of a folder.
func loadCases(t *testing.T, dir string) (files []caseFile) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases in %s: %v", dir, err)
	}
	names := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := caseFile{name: strings.TrimSuffix(filepath.Base(path), ".json")}
		if f.cases, err = parseCases(data); err == nil {
			err = f.claim(names)
		}
		if err != nil {
			t.Fatalf("%s: %v", filepath.Base(path), err)
		}
		files = append(files, f)
	}
	return files
}

// parseCases decodes and checks the cases of a file.
func parseCases(data []byte) (cases []*testCase, err error) {
	var raw []json.RawMessage
	if err := decode(data, &raw); err != nil {
		return nil, err
	}
	for i, data := range raw {
		c, err := parseCase(data)
		if err != nil {
			return nil, fmt.Errorf("case %d %s: %w", i+1, nameIn(data), err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// nameIn returns the name of a case that may have mistakes.
func nameIn(data []byte) string {
	var c struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(data, &c)
	return fmt.Sprintf("%q", c.Name)
}

func parseCase(data []byte) (*testCase, error) {
	var raw struct {
		testCase
		Steps []json.RawMessage `json:"steps"`
	}
	if err := decode(data, &raw); err != nil {
		return nil, err
	}
	c := &raw.testCase
	for i, data := range raw.Steps {
		s := &step{}
		if err := s.UnmarshalJSON(data); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		c.Steps = append(c.Steps, s)
	}
	return c, c.check()
}

func (c *testCase) check() error {
	switch {
	case c.Name == "" || strings.ContainsAny(c.Name, "/ "):
		return errors.New("a case has a name without blanks and slashes")
	case c.Says == "":
		return errors.New(`"says" is missing: what the case requires, in one sentence`)
	case c.Nodes < 0 || c.Nodes > 5:
		return errors.New(`"nodes" is 1 to 5`)
	case (len(c.Flags) > 0 || c.LastToken > 0) && c.Nodes == 0:
		return errors.New(`"flags" and "last_token" need "nodes"`)
	case c.Needs != "" && !slices.Contains(capabilities, c.Needs):
		return fmt.Errorf("%q is one of %q, not %q", "needs", capabilities, c.Needs)
	case len(c.Steps) == 0:
		return errors.New("a case has steps")
	}
	asked, locks := map[string]*step{}, map[string]bool{}
	for i, s := range c.Steps {
		if err := s.checkIn(c, asked, locks); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// checkIn checks a step against those before it: asked has what has an id, and locks has the locks that were acquired.
func (s *step) checkIn(c *testCase, asked map[string]*step, locks map[string]bool) error {
	switch {
	case s.Node != "" && (s.Number < 1 || s.Number > c.Nodes):
		return fmt.Errorf(`"number" is that of a node of the case, 1 to %d`, c.Nodes)
	case s.Reshard > 0 && c.Nodes == 0:
		return errors.New(`"reshard" needs "nodes": other cases run on the shared one`)
	}
	if s.As != "" {
		if asked[s.As] != nil {
			return fmt.Errorf("%q is the id of two steps", s.As)
		}
		asked[s.As] = s
	}
	if slices.Contains([]string{"acquire", "within", "acquire_all", "within_all", "campaign"}, s.Call) {
		if s.Lock == "" || locks[s.Lock] {
			return fmt.Errorf("each lock of a case has a name of its own, and %q is none", s.Lock)
		}
		locks[s.Lock] = true
	}
	for _, id := range []string{s.Await, s.Cancel} {
		if id == "" {
			continue
		}
		earlier := asked[id]
		if earlier == nil || id == s.Cancel && earlier.Call == "" {
			return fmt.Errorf("no earlier step that this is possible for has the id %q", id)
		}
		if earlier.Expect != nil || earlier.Error != nil {
			return fmt.Errorf("the step %q is not waited for, so what it expects belongs to its await", id)
		}
		earlier.detached = true
	}
	return nil
}

// resources returns the resources that the case locks.
func (c *testCase) resources() []string {
	names := map[string]bool{}
	for _, s := range c.Steps {
		if slices.Contains([]string{"keep", "end", "list", "info"}, s.Ask) ||
			slices.Contains([]string{"key", "shard"}, s.Call) {
			continue
		}
		for _, name := range append(s.Names, s.Name) {
			name = messages.NormalizeResource(name)
			if _, err := messages.EncodeKey(name); err == nil {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (s *step) resource() string { return messages.NormalizeResource(s.Name) }

// claim refuses names of cases and of resources on the shared node that are in use.
func (f *caseFile) claim(names map[string]string) error {
	for _, c := range f.cases {
		claimed := []string{"case " + f.name + "/" + c.Name}
		if c.Nodes == 0 {
			for _, name := range c.resources() {
				claimed = append(claimed, "resource "+name)
			}
		}
		for _, name := range claimed {
			if user, ok := names[name]; ok {
				return fmt.Errorf("case %q: the %s is that of %s, too", c.Name, name, user)
			}
			names[name] = f.name + "/" + c.Name
		}
	}
	return nil
}
