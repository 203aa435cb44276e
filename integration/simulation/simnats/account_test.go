package simnats_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/simulation/simnats"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// accounts are those of the nodes, of clients of no tenant, and of two tenants: each has one user of its name.
const accounts = `accounts: {
  NODES: {
    jetstream: enabled
    users: [ { user: NODES, password: p } ]
    exports: [
      { service: "holdfast.tenant.*.>", account_token_position: 3, response_threshold: "65m" }
      { stream: "holdfast.tenant.*.event.>", account_token_position: 3 }
      { service: "holdfast.>" }
    ]
  }
  PLAIN: {
    users: [ { user: PLAIN, password: p } ]
    imports: [ { service: { account: NODES, subject: "holdfast.>" }, share: true } ]
  }
  ALPHA: {
    users: [ { user: ALPHA, password: p } ]
    imports: [
      { service: { account: NODES, subject: "holdfast.tenant.ALPHA.>" }, to: "holdfast.>" }
      { stream: { account: NODES, subject: "holdfast.tenant.ALPHA.event.>" }, to: "holdfast.event.>" }
    ]
  }
  BETA: {
    users: [ { user: BETA, password: p } ]
    imports: [
      { service: { account: NODES, subject: "holdfast.tenant.BETA.>" }, to: "holdfast.>", share: true }
      { stream: { account: NODES, subject: "holdfast.tenant.BETA.event.>" }, to: "holdfast.event.>" }
    ]
  }
}
`

// configure gives a network the same accounts.
func configure(n *simnats.Network) {
	n.JetStream, n.Users = "NODES", make(map[string]simnats.User)
	for _, name := range []string{"NODES", "PLAIN", "ALPHA", "BETA"} {
		n.Users[name] = simnats.User{Password: "p", Account: name}
	}
	n.Imports = []simnats.Import{
		{Account: "PLAIN", From: "NODES", Subject: "holdfast.>", To: "holdfast.>", Share: true},
		{Account: "ALPHA", From: "NODES", Subject: "holdfast.tenant.ALPHA.>", To: "holdfast.>"},
		{Account: "ALPHA", From: "NODES", Subject: "holdfast.tenant.ALPHA.event.>", To: "holdfast.event.>", Stream: true},
		{Account: "BETA", From: "NODES", Subject: "holdfast.tenant.BETA.>", To: "holdfast.>", Share: true},
		{Account: "BETA", From: "NODES", Subject: "holdfast.tenant.BETA.event.>", To: "holdfast.event.>", Stream: true},
	}
}

// party is a connection of one account, and all that it receives.
type party struct {
	testing.TB
	*nats.Conn
	account  string
	received chan *nats.Msg
	heard    []*nats.Subscription
}

func join(tb testing.TB, account string, connect func(...nats.Option) (*nats.Conn, error)) *party {
	tb.Helper()
	nc, err := connect(nats.UserInfo(account, "p"), nats.Name("of "+account),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		tb.Fatal(err)
	}
	return &party{tb, nc, account, make(chan *nats.Msg, 100), nil}
}

func (p *party) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *party) hear(subjects ...string) {
	p.Helper()
	for _, subject := range subjects {
		s, err := p.ChanSubscribe(subject, p.received)
		p.must(err)
		p.heard = append(p.heard, s)
	}
	p.must(p.Flush())
}

func (p *party) next() *nats.Msg {
	p.Helper()
	select {
	case m := <-p.received:
		return m
	case <-time.After(time.Minute):
		p.Fatalf("%s receives nothing", p.account)
		return nil
	}
}

// until returns what comes before a message on a subject.
func (p *party) until(subject string) (all []string) {
	p.Helper()
	for m := p.next(); m.Subject != subject; m = p.next() {
		all = append(all, shown(m))
	}
	return all
}

// shown is a message without what is drawn, measured, or said of the server.
func shown(m *nats.Msg) string {
	reply := m.Reply
	if strings.HasPrefix(reply, "_R_.") {
		reply = "_R_"
	}
	text := fmt.Sprintf("%s reply %q data %q", m.Subject, reply, m.Data)
	for _, name := range slices.Sorted(maps.Keys(m.Header)) {
		for _, value := range m.Header[name] {
			if name == "Nats-Request-Info" {
				value = shownInfo(value)
			}
			text += fmt.Sprintf(" %s: %s", name, value)
		}
	}
	return text
}

func shownInfo(text string) string {
	var info map[string]any
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return "no JSON: " + text
	}
	for _, drawn := range []string{"rtt", "start", "host", "id", "server", "cluster"} {
		delete(info, drawn)
	}
	return fmt.Sprint(info)
}

// conversation is what the parties see, step by step.
func conversation(t *testing.T, connect func(...nats.Option) (*nats.Conn, error)) (seen []string) {
	t.Helper()
	node, alpha, beta := join(t, "NODES", connect), join(t, "ALPHA", connect), join(t, "BETA", connect)
	plain := join(t, "PLAIN", connect)
	defer func() {
		for _, p := range []*party{node, alpha, beta, plain} {
			p.Close()
		}
	}()
	see := func(what string, lines ...string) {
		for _, line := range lines {
			seen = append(seen, what+": "+line)
		}
	}
	node.hear("holdfast.>", "inbox.node")
	alpha.hear("holdfast.event.>", "inbox.alpha")
	beta.hear("holdfast.event.>", "inbox.beta")
	plain.hear("inbox.plain")
	headers := []nats.Header{
		nil, {"A": {"1"}}, {"Nats-Request-Info": {`{"acc":"NODES","user":"admin"}`}},
		{"A": {"1"}, "Nats-Request-Info": {`{"acc":"x"}`, `{"acc":"y"}`}, "Z": {"2"}},
		{"nats-request-info": {`{"acc":"x"}`}}, {"A": {"Nats-Request-Info: x"}},
	}
	for i, p := range []*party{alpha, beta, plain} {
		subject := []string{"holdfast.acquire.k", "holdfast.shard.1.keep.s", "holdfast.acquire.k"}[i]
		inbox := "inbox." + strings.ToLower([]string{"alpha", "beta", "plain"}[i])
		for _, h := range headers {
			p.must(p.PublishMsg(&nats.Msg{Subject: subject, Reply: inbox, Header: h, Data: []byte("ask")}))
			asked := node.next()
			see("node", shown(asked))
			// One answer comes back, also if it has a reply subject.
			node.must(node.PublishMsg(&nats.Msg{
				Subject: asked.Reply, Reply: []string{"", "inbox.node"}[i%2], Data: []byte("first"),
				Header: nats.Header{"B": {"3"}},
			}))
			node.must(node.Publish(asked.Reply, []byte("second")))
			node.must(node.Flush())
			answer := p.next()
			see(p.account, shown(answer))
			if answer.Reply != "" {
				p.must(p.Publish(answer.Reply, []byte("third")))
				see("node", shown(node.next()))
			}
		}
		// A message without a reply subject passes as well.
		p.must(p.Publish(subject, nil))
		see("node", shown(node.next()))
	}
	// An event reaches the subscribers of its tenant, and a client's own message on its subject those of the service.
	for _, account := range []string{"ALPHA", "BETA"} {
		node.must(node.Publish("holdfast.tenant."+account+".event.k", []byte("event of "+account)))
		see("node", shown(node.next()))
	}
	see("ALPHA", shown(alpha.next()))
	see("BETA", shown(beta.next()))
	alpha.must(alpha.Publish("holdfast.event.forged", nil))
	see("node", shown(node.next()))
	for _, account := range []string{"ALPHA", "BETA"} {
		node.must(node.Publish("holdfast.tenant."+account+".event.last", nil))
	}
	see("ALPHA", alpha.until("holdfast.event.last")...)
	see("BETA", beta.until("holdfast.event.last")...)
	see("node", node.until("holdfast.tenant.BETA.event.last")...)
	// The node does not learn that nobody receives its answer.
	alpha.must(alpha.PublishRequest("holdfast.acquire.k", "inbox.gone", nil))
	node.must(node.PublishRequest(node.next().Reply, "inbox.node", nil))
	node.must(node.PublishRequest("nowhere", "inbox.node", nil))
	see("node", shown(node.next()))
	node.must(node.PublishRequest("holdfast.stolen", "_R_.x", nil)) // that is for NATS alone
	node.must(node.Publish("holdfast.fence", nil))
	see("node", node.until("holdfast.fence")...)
	for _, p := range []*party{node, alpha, beta} {
		for _, subject := range []string{"nobody", "_R_.x"} {
			_, err := p.Request(subject, nil, time.Minute)
			see(p.account, fmt.Sprint(subject, " is served: ", !errors.Is(err, nats.ErrNoResponders)))
		}
	}
	for _, s := range node.heard {
		node.must(s.Unsubscribe())
	}
	node.must(node.Flush())
	alpha.must(alpha.PublishRequest("holdfast.acquire.k", "inbox.alpha", nil))
	see("ALPHA", shown(alpha.next()))
	return seen
}

// Accounts and their imports are as those of NATS.
func TestAccounts(t *testing.T) {
	server := stand.StartNATS(t, embedded.Config{ConfigFile: stand.NATSConfig(t, accounts)})
	want := conversation(t, func(opts ...nats.Option) (*nats.Conn, error) {
		return nats.Connect(server.ClientURL(), opts...)
	})
	for _, servers := range [][]string{{"a"}, {"a", "b", "c"}} {
		inBubble(t, func(t *testing.T, n *simnats.Network) {
			t.Helper()
			configure(n)
			i := 0
			got := conversation(t, func(opts ...nats.Option) (*nats.Conn, error) {
				i++
				dialer := n.Dialer(fmt.Sprint("p", i), servers[i%len(servers)])
				return nats.Connect("", append(opts, nats.InProcessServer(dialer))...)
			})
			for i := range max(len(got), len(want)) {
				a, b := "nothing", "nothing"
				if i < len(got) {
					a = got[i]
				}
				if i < len(want) {
					b = want[i]
				}
				if a != b {
					t.Errorf("step %d:\n got  %s\n want %s", i, a, b)
				}
			}
		})
	}
}
