package identity

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	grant   = `"ttl_ms":60000}`
	forged  = `{"acc":"APP","user":"bob"}`
	header  = "Nats-Request-Info"
	another = "which NATS says that you are"
)

// single is one account whose clients reach the service through its own export.
func single(node, nkeyUser string) string {
	return fmt.Sprintf(`accounts: { APP: {
  jetstream: enabled
  users: [
    { nkey: %s }
    { user: alice, password: a, permissions: { publish: ["locks.>", "holdfast.acquire.>"], subscribe: ["_INBOX.>", "locks.event.>"] } }
    { nkey: %s, permissions: { publish: "locks.>", subscribe: "_INBOX.>" } }
  ]
  exports: [ { service: "holdfast.>", response_threshold: "65m" }, { stream: "holdfast.event.>" } ]
  imports: [
    { service: { account: APP, subject: "holdfast.>" }, to: "locks.>", share: true }
    { stream: { account: APP, subject: "holdfast.event.>" }, to: "locks.event.>" }
  ]
} }`, node, nkeyUser)
}

// In one account, the owner of a lease is the user who has logged in, by password or nkey.
func TestUsersOfOneAccount(t *testing.T) {
	t.Parallel()
	node, login := key(t)
	public, keyLogin := key(t)
	s := start(t, identity.User, single(node, public), login)
	alice, other := s.connect(nats.UserInfo("alice", "a")), s.connect(keyLogin)

	s.wantGranted(alice, "locks.acquire.a", `{"owner":"alice",`+grant, "alice", "alice")
	s.wantGranted(alice, "locks.acquire.b", `{"owner":"alice/1",`+grant, "alice/1", "alice")
	s.wantGranted(alice, "locks.acquire.c", `{`+grant, "alice", "alice")
	s.wantGranted(other, "locks.acquire.d", `{"owner":"`+public+`/x",`+grant, public+"/x", public)
	for _, owner := range []string{"bob", "alic", "alice2", "Alice", "alice\\\\1", "/alice"} {
		s.wantInvalid(alice, "locks.acquire.e", `{"owner":"`+owner+`",`+grant, another)
	}
	// A forged header is replaced, and beside one in another spelling that of NATS counts.
	s.wantGranted(alice, "locks.acquire.f", `{`+grant, "alice", "alice", header, forged)
	s.wantGranted(alice, "locks.acquire.g", `{`+grant, "alice", "alice", "nats-request-info", forged)
	// Another user cannot act on the lease.
	for op, body := range map[string]string{
		"release": `{"owner":"alice","token":"1"}`, "extend": `{"owner":"alice","token":"1",` + grant,
		"set": `{"owner":"alice","token":"1"}`,
	} {
		s.wantInvalid(other, "locks."+op+".a", body, another)
	}
	if r := s.ask(other, "locks.get.a", ""); r.GetStatus() != messages.Status_HELD ||
		r.GetLease().GetIdentity() != "alice" {
		t.Errorf("got %v, want a lease with the identity alice", r)
	}
	if r := s.ask(alice, "locks.release.c", `{"token":"1"}`); r.GetStatus() != messages.Status_RELEASED {
		t.Errorf("released without an owner: %v", r)
	}
	// A request that did not come through the import is refused.
	s.wantInvalid(alice, "holdfast.acquire.h", `{`+grant, "through a service import")
	// Through an import comes one answer, and neither a probe nor a notice goes back.
	s.wantInvalid(alice, "locks.keep.0123456789abcdef", `{"ttl_ms":60000,"alive":"_INBOX.x"}`, "alive")
	s.wantInvalid(alice, "locks.keep.0123456789abcdef", `{"ttl_ms":60000,"notices":true,"alive":"_INBOX.x"}`, "alive")
	s.wantNoBatch(alice)
	s.wantInfo(alice, "alice")
}

// wantNoBatch sends a batch through the import.
func (s *service) wantNoBatch(nc *nats.Conn) {
	s.Helper()
	m, err := nc.Request("locks.shard.0.batch", []byte(`{"calls":[{"id":"1","key":"a","get":{}}]}`), patience)
	if err != nil {
		s.Fatal(err)
	}
	r := &messages.BatchReply{}
	if err := messages.DecodeReply(messages.JSON, m.Data, r); err != nil {
		s.Fatal(err)
	}
	if len(r.GetAnswers()) != 1 || r.GetAnswers()[0].GetReply().GetStatus() != messages.Status_INVALID {
		s.Errorf("a batch through an import: %v", r)
	}
}

// wantInfo asks who the client is.
func (s *service) wantInfo(nc *nats.Conn, id string) {
	s.Helper()
	m, err := nc.Request("locks.info", nil, patience)
	if err != nil {
		s.Fatal(err)
	}
	var info struct {
		Identity string
		Features []string
	}
	if err := json.Unmarshal(m.Data, &info); err != nil {
		s.Fatal(err)
	}
	if features := strings.Join(info.Features, " "); info.Identity != id || !strings.Contains(features, "identity") || strings.Contains(features, "batch") {
		s.Errorf("got %+v, want the identity %s, and no batches", info, id)
	}
}

// Clients may claim anything when they connect: an nkey, or a JWT, beside the password does not change who they are.
func TestClaimsAtConnect(t *testing.T) {
	t.Parallel()
	node, login := key(t)
	public, _ := key(t)
	s := start(t, identity.User, single(node, public), login)
	for _, claim := range []string{`"nkey":"bob"`, `"nkey":"` + public + `"`, `"jwt":"` + userJWT(t).token + `"`,
		`"name":"bob"`, `"auth_token":"bob"`} {
		answer := s.raw(`{"verbose":false,"headers":true,"protocol":1,"user":"alice","pass":"a",` + claim + `}`)
		if !strings.Contains(answer, "Authorization Violation") && !strings.Contains(answer, `"identity":"alice"`) {
			t.Errorf("with %s: %s", claim, answer)
		}
	}
}

// raw logs in with these options, asks for a lock and returns what the server writes about it.
func (s *service) raw(connect string) string {
	s.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "nats://"))
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close()
	const body = `{"owner":"alice","reentrant":true,"ttl_ms":60000}`
	_, err = fmt.Fprintf(c, "CONNECT %s\r\nSUB _INBOX.raw 1\r\nPUB locks.acquire.raw _INBOX.raw %d\r\n%s\r\n", connect,
		len(body), body)
	if err != nil {
		s.Fatal(err)
	}
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "{") || strings.HasPrefix(line, "-ERR") {
			return line
		}
	}
	return "closed: " + fmt.Sprint(lines.Err())
}

// A server that knows no nkey lets a client with a password claim to be another user. The service does not start on it.
func TestServerThatDoesNotVerifyUsers(t *testing.T) {
	t.Parallel()
	const users = `accounts: { APP: { jetstream: enabled, users: [ { user: node, password: n } ] } }`
	s, err := server.Start(t.Context(), configured(t, identity.User, users, nats.UserInfo("node", "n")))
	if err == nil {
		_ = s.Stop()
	}
	if !errors.Is(err, embedded.ErrConfig) || !strings.Contains(err.Error(), "nkey") {
		t.Errorf("got %v, want an error that names nkeys", err)
	}
}

// This is why: such a server passes on the nkey that a client claims beside its password. If this test fails, NATS
// verifies it, and the check at the start can go.
func TestClaimedNKeyOnAServerThatKnowsNone(t *testing.T) {
	t.Parallel()
	const config = `accounts: { APP: {
  jetstream: enabled
  users: [ { user: node, password: n }, { user: alice, password: a, permissions: { publish: "locks.>", subscribe: "_INBOX.>" } } ]
  exports: [ { service: "holdfast.>" } ]
  imports: [ { service: { account: APP, subject: "holdfast.>" }, to: "locks.>", share: true } ]
} }`
	external := stand.StartNATS(t, embedded.Config{ConfigFile: stand.NATSConfig(t, config)})
	cfg := configured(t, identity.User, "", nats.UserInfo("node", "n"))
	cfg.NATS = &nats.Options{Url: external.ClientURL()}
	node, err := server.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t, external.ClientURL()}
	if answer := s.raw(`{"verbose":false,"headers":true,"protocol":1,"user":"alice","pass":"a","nkey":"bob"}`); !strings.Contains(answer, `\"bob\", which NATS says`) {
		t.Errorf("alice, who claims the nkey bob, got %s", answer)
	}
	if err := node.Stop(); err != nil {
		t.Error(err)
	}
}

// across are two accounts that import the service of a third.
func across(node, share string) string {
	imports := fmt.Sprintf(`[
    { service: { account: HOLDFAST, subject: "holdfast.>" }%s }
    { stream: { account: HOLDFAST, subject: "holdfast.event.>" } }
  ]`, share)
	return fmt.Sprintf(`accounts: {
  HOLDFAST: {
    jetstream: enabled
    users: [ { nkey: %s } ]
    exports: [ { service: "holdfast.>", response_threshold: "65m" }, { stream: "holdfast.event.>" } ]
  }
  ORDERS: { users: [ { user: alice, password: a } ], imports: %[2]s }
  PEOPLE: { users: [ { user: bob, password: b } ], imports: %[2]s }
}`, node, imports)
}

// Across accounts the owner is the user, if the import shares it, or the account.
func TestAcrossAccounts(t *testing.T) {
	t.Parallel()
	for mode, names := range map[identity.Mode][2]string{identity.User: {"alice", "bob"},
		identity.Account: {"ORDERS", "PEOPLE"}} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			node, login := key(t)
			share := ""
			if mode == identity.User {
				share = ", share: true"
			}
			s := start(t, mode, across(node, share), login)
			alice, bob := s.connect(nats.UserInfo("alice", "a")), s.connect(nats.UserInfo("bob", "b"))
			events, err := bob.SubscribeSync("holdfast.event.a")
			if err == nil {
				err = bob.Flush()
			}
			if err != nil {
				t.Fatal(err)
			}
			s.wantGranted(alice, "holdfast.acquire.a", `{`+grant, names[0], names[0], header, forged)
			s.wantInvalid(bob, "holdfast.release.a", `{"owner":"`+names[0]+`","token":"1"}`, another)
			s.wantInvalid(bob, "holdfast.shard.0.extend.a", `{"owner":"`+names[0]+`","token":"1",`+grant, another)
			m, err := events.NextMsg(patience)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(m.Data), `"identity":"`+names[0]+`"`) {
				t.Errorf("the event shows no identity: %s", m.Data)
			}
			// A request that waits is answered through the import.
			answered := make(chan *messages.Reply, 1)
			inbox, err := bob.SubscribeSync(bob.NewInbox())
			if err == nil {
				err = bob.PublishRequest("holdfast.acquire.a", inbox.Subject, []byte(`{"wait_ms":600000,`+grant))
			}
			if err == nil {
				err = bob.Flush()
			}
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				r := &messages.Reply{}
				if m, err := inbox.NextMsg(patience); err == nil {
					_ = messages.DecodeReply(messages.JSON, m.Data, r)
				}
				answered <- r
			}()
			s.untilWaiting(alice, "holdfast.get.a")
			if r := s.ask(alice, "holdfast.release.a", `{"token":"1"}`); r.GetStatus() != messages.Status_RELEASED {
				t.Errorf("released: %v", r)
			}
			if r := <-answered; r.GetStatus() != messages.Status_GRANTED || r.GetLease().GetIdentity() != names[1] {
				t.Errorf("the request that waited got %v", r)
			}
		})
	}
}

// An import that does not share its clients is refused in mode user.
func TestImportWithoutShare(t *testing.T) {
	t.Parallel()
	node, login := key(t)
	s := start(t, identity.User, across(node, ""), login)
	s.wantInvalid(s.connect(nats.UserInfo("alice", "a")), "holdfast.acquire.a", `{`+grant, "share: true")
}

// untilWaiting returns when a request waits for the resource of this subject.
func (s *service) untilWaiting(nc *nats.Conn, get string) {
	s.Helper()
	stand.Eventually(s, "a request waits", func() bool { return s.ask(nc, get, "").GetWaiting() == 1 })
}
