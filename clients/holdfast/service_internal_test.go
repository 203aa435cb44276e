package holdfast

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// scripted is a service of one shard in virtual time: mutexes, blocks of tokens, queues, sessions and notices as of the
// contract, on messages of which a test decides the fate. What it does not need is left out.
type scripted struct {
	t      *testing.T
	server pipeServer
	// features are what it offers.
	features []string

	mu       sync.Mutex
	leases   map[string]*scriptedLease
	tokens   map[string]uint64
	queues   map[string][]scriptedWaiter
	sessions map[string]*scriptedSession
	losses   uint64
	// fate decides how long a request and its answer take; negative: it is lost. nil: no time at all.
	fate func(messages.Operation) (request, answer time.Duration)
	// granted is called with each grant.
	granted func(*messages.Lease)
	// asks counts the requests that have arrived.
	asks map[messages.Operation]int
	// deaf: the clients count as disconnected, so sessions end as soon as they may.
	deaf bool
	// refuse returns the status with which an extension is refused, 0 if it is not. It is called with mu held; nil:
	// none is.
	refuse func(key string, r *messages.ExtendRequest) messages.Status
	// shards and generation are what it says of its shards.
	shards, generation atomic.Uint32
	// forged is the generation in a header of all answers; empty: only those on former direct subjects have one, and the
	// right one.
	forged atomic.Value
	// kept are the shards to which the latest keeps of sessions were sent; zero: to any node.
	kept map[string]messages.Address
	// heardOf is called with each request that has arrived, with mu held; nil: nothing is.
	heardOf func(m proto.Message)
}

type scriptedLease struct {
	request *messages.AcquireRequest
	begun   time.Time
	token   uint64
	// tokens is how many the lease has; noticed is when its holder last got a notice, refused: since the last keep a
	// request was refused because of it.
	tokens  uint32
	noticed time.Time
	refused bool
	ttl     time.Duration
	session string
	// deadline counts without a session, for the TTL of the last extension.
	deadline time.Time
	timer    *time.Timer
	// order and setOrder are the highest of its extends and of its sets.
	order, setOrder uint64
	metadata        map[string]string
}

type scriptedWaiter struct {
	request *messages.AcquireRequest
	answer  func(*messages.Reply)
}

type scriptedSession struct {
	deadline time.Time
	ttl      time.Duration
	losses   uint64
	timer    *time.Timer
	// patience is for how long the client may be disconnected; 0: for ever. heard is when it sent something.
	patience time.Duration
	heard    time.Time
	// alive is where notices go; empty: there are none.
	alive string
}

// opNotice is a notice on its way, as a fate sees it.
const opNotice messages.Operation = "notice"

func newScripted(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{
		t: t, features: []string{messages.FeatureBatch, messages.FeatureSessions, messages.FeatureValues,
			messages.FeatureOrder},
		leases: map[string]*scriptedLease{}, tokens: map[string]uint64{}, queues: map[string][]scriptedWaiter{},
		sessions: map[string]*scriptedSession{}, asks: map[messages.Operation]int{},
		kept: map[string]messages.Address{},
	}
	s.shards.Store(1)
	s.forged.Store("")
	s.server.publish = s.published
	return s
}

// client returns a client that knows the deployment, and ends with the test.
func (s *scripted) client(opts ...Option) *Client {
	s.t.Helper()
	c, err := New(s.server.connect(s.t), opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		s.script(nil)
		_ = c.Close(s.t.Context())
	})
	<-c.deployment.known
	return c
}

// script decides on the fate of messages from now on.
func (s *scripted) script(fate func(messages.Operation) (request, answer time.Duration)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fate = fate
}

// lost is a fate of messages.
const lostOnTheWay = time.Duration(-1)

func (s *scripted) published(subject, reply string, data []byte) {
	encoding := messages.EncodingOf("", data)
	address, err := messages.DefaultPrefix.Parse(subject)
	header := s.header(address)
	deliver := func(m proto.Message) {
		payload, err := messages.Encode(encoding, m)
		if err != nil {
			s.t.Error(err)
		}
		s.server.deliverWith(reply, header, payload)
	}
	if subject == messages.DefaultPrefix.Info() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asks[opInfo]++
		var there time.Duration
		if s.fate != nil {
			there, _ = s.fate(opInfo)
		}
		after(there, func() {
			deliver(&messages.Info{Shards: s.shards.Load(), Generation: s.generation.Load(), Features: s.features})
		})
		return
	}
	if err != nil {
		return // it is of no interest
	}
	if address.Operation != messages.OpBatch {
		s.asked(address, data, func(r *messages.Reply) { deliver(r) })
		return
	}
	calls, err := messages.SplitBatch(messages.Protobuf, data)
	if err != nil {
		s.t.Error(err)
	}
	for _, call := range calls {
		answer := func(r *messages.Reply) {
			deliver(&messages.BatchReply{Answers: []*messages.Answer{{Id: call.ID, Reply: r}}})
		}
		if call.Err != nil {
			answer(&messages.Reply{Status: messages.Status_INVALID})
			continue
		}
		of := address
		of.Operation, of.Key = call.Operation, call.Key
		s.asked(of, slices.Clone(call.Payload), answer)
	}
}

// header returns the header of the answers to what was sent to an address; empty: they have none.
func (s *scripted) header(a messages.Address) string {
	present := strconv.FormatUint(uint64(s.generation.Load()), 10)
	switch forged := s.forged.Load(); {
	case forged != "":
		present = forged.(string)
	case !a.Direct || a.Shard.Generation == s.generation.Load():
		return ""
	}
	return messages.HeaderGeneration + ": " + present
}

// asked carries a request out, as its fate is.
func (s *scripted) asked(to messages.Address, data []byte, answer func(*messages.Reply)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	op, key := to.Operation, to.Key
	if op == messages.OpKeep {
		s.kept[key] = to
	}
	m := messages.NewRequest(op)
	if err := messages.Decode(messages.EncodingOf("", data), data, m); err != nil {
		s.t.Error(err)
	}
	var there, back time.Duration
	if s.fate != nil {
		there, back = s.fate(op)
	}
	reply := func(r *messages.Reply) {
		after(back, func() { answer(r) })
	}
	if there == 0 {
		s.asks[op]++
		s.decide(key, m, reply)
		return
	}
	after(there, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asks[op]++
		s.decide(key, m, reply)
	})
}

// count returns how many requests of an operation have arrived since the last call.
func (s *scripted) count(op messages.Operation) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.asks[op]
	s.asks[op] = 0
	return n
}

// breakLease ends a lease as an operator does.
func (s *scripted) breakLease(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.leases[key]; l != nil {
		s.notice(key, true)
		s.lose(l)
		s.free(key)
	}
}

// notice sends a notice of a lease, if its session has asked for any. It is called with mu held.
func (s *scripted) notice(key string, ended bool) {
	l := s.leases[key]
	x := s.sessions[l.session]
	if x == nil || x.alive == "" || !ended && time.Since(l.noticed) < time.Second {
		return
	}
	l.noticed = time.Now()
	n := &messages.Notice{Resource: key, Token: l.token, Waiting: uint32(len(s.queues[key])), Ended: ended}
	payload, err := messages.Encode(messages.Protobuf, n)
	if err != nil {
		s.t.Error(err)
	}
	var delay time.Duration
	if s.fate != nil {
		delay, _ = s.fate(opNotice)
	}
	to := x.alive
	after(delay, func() { s.server.deliver(to, payload) })
}

// lose notes that a lease has ended otherwise than by a release.
func (s *scripted) lose(l *scriptedLease) {
	if x := s.sessions[l.session]; x != nil {
		s.losses++
		x.losses = s.losses
	}
}

// takeOver is a new owner of the shard: all sessions and leases run their whole time again, and a session without
// leases is forgotten.
func (s *scripted) takeOver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	ttls := map[string]time.Duration{}
	for key, l := range s.leases {
		if l.session == "" {
			s.run(key, l, l.ttl)
		} else {
			ttls[l.session] = max(ttls[l.session], l.ttl)
		}
	}
	for id, x := range s.sessions {
		if ttls[id] == 0 {
			x.timer.Stop()
			delete(s.sessions, id)
			continue
		}
		s.losses++
		x.losses = s.losses
		s.prolong(id, ttls[id])
	}
}

// reshard gives the service another number of shards. What it holds goes on as with a new owner.
func (s *scripted) reshard(n uint32) {
	s.takeOver()
	s.shards.Store(n)
	s.generation.Add(1)
}

// holds reports whether the lease of a token is held.
func (s *scripted) holds(key string, token Token) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[key]
	return l != nil && Token(l.token) == token && s.runs(l)
}

// has reports whether a lease is held that has the token, as its first one or another one of its block.
func (s *scripted) has(key string, token Token) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[key]
	return l != nil && s.runs(l) && l.token <= uint64(token) && uint64(token) < l.token+uint64(l.tokens)
}

// runs reports whether the time of a lease is not over. It is called with mu held.
func (s *scripted) runs(l *scriptedLease) bool {
	if l.session != "" {
		return s.sessions[l.session] != nil && time.Now().Before(s.sessions[l.session].deadline)
	}
	return time.Now().Before(l.deadline)
}

func after(d time.Duration, f func()) {
	switch {
	case d == 0:
		f()
	case d > 0:
		time.AfterFunc(d, f)
	}
}

// decide is called with mu held, as what it calls is.
func (s *scripted) decide(key string, m proto.Message, answer func(*messages.Reply)) {
	if s.heardOf != nil {
		s.heardOf(m)
	}
	switch r := m.(type) {
	case *messages.AcquireRequest:
		s.acquire(key, r, answer)
	case *messages.ReleaseRequest:
		answer(s.release(key, r))
	case *messages.ExtendRequest:
		answer(s.extend(key, r))
	case *messages.SetRequest:
		answer(s.set(key, r))
	case *messages.GetRequest:
		answer(s.get(key))
	case *messages.KeepRequest:
		answer(s.keep(key, r))
	}
}

func (s *scripted) acquire(key string, r *messages.AcquireRequest, answer func(*messages.Reply)) {
	l := s.leases[key]
	same := func(w scriptedWaiter) bool { return w.request.GetRequestId() == r.GetRequestId() }
	i := slices.IndexFunc(s.queues[key], same)
	switch {
	case l != nil && l.request.GetRequestId() == r.GetRequestId():
		answer(&messages.Reply{Status: messages.Status_GRANTED, Lease: s.lease(key), Order: l.order})
	case l != nil && r.GetReentrant() && l.request.GetOwner() == r.GetOwner():
		if until := time.Now().Add(millis(r.GetTtlMs())); until.After(l.deadline) {
			s.run(key, l, millis(r.GetTtlMs()))
		}
		answer(&messages.Reply{Status: messages.Status_GRANTED, Lease: s.lease(key), Order: l.order})
	case l == nil:
		s.grant(key, r, answer)
	case r.GetWaitMs() == 0:
		l.refused = true
		s.notice(key, false)
		answer(&messages.Reply{Status: messages.Status_HELD, Lease: s.lease(key), Held: 1,
			Holders: []*messages.Lease{s.lease(key)}})
	default:
		if r.GetSession() != "" {
			s.open(r.GetSession(), millis(r.GetTtlMs()))
		}
		if i >= 0 {
			s.queues[key][i] = scriptedWaiter{r, answer}
		} else {
			s.queues[key] = append(s.queues[key], scriptedWaiter{r, answer})
			s.notice(key, false)
		}
	}
}

func (s *scripted) grant(key string, r *messages.AcquireRequest, answer func(*messages.Reply)) {
	l := &scriptedLease{request: r, begun: time.Now(), token: s.tokens[key] + 1, tokens: max(r.GetTokens(), 1), ttl: millis(r.GetTtlMs()),
		session: r.GetSession()}
	s.tokens[key] += uint64(l.tokens)
	s.leases[key] = l
	if l.session == "" {
		s.run(key, l, l.ttl)
	} else {
		l.ttl = s.open(l.session, l.ttl).ttl
	}
	if s.granted != nil {
		s.granted(s.lease(key))
	}
	answer(&messages.Reply{Status: messages.Status_GRANTED, Lease: s.lease(key), Waiting: uint32(len(s.queues[key]))})
}

func (s *scripted) open(id string, ttl time.Duration) *scriptedSession {
	if s.sessions[id] == nil {
		s.losses++
		s.sessions[id] = &scriptedSession{losses: s.losses, ttl: ttl}
		s.prolong(id, ttl)
	}
	s.heard(id)
	return s.sessions[id]
}

// heard notes that a request named a session.
func (s *scripted) heard(id string) {
	x := s.sessions[id]
	x.heard = time.Now()
	if !s.deaf || x.patience == 0 {
		return
	}
	time.AfterFunc(x.patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.sessions[id] == x && time.Since(x.heard) >= x.patience {
			s.endSession(id)
		}
	})
}

func (s *scripted) prolong(id string, ttl time.Duration) {
	x := s.sessions[id]
	if x.timer != nil {
		x.timer.Stop()
	}
	x.deadline = time.Now().Add(ttl)
	x.timer = time.AfterFunc(ttl, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.sessions[id] == x && !time.Now().Before(x.deadline) {
			s.endSession(id)
		}
	})
}

func (s *scripted) endSession(id string) {
	s.sessions[id].timer.Stop()
	delete(s.sessions, id)
	var ended []string
	for key, l := range s.leases {
		if l.session == id {
			ended = append(ended, key)
		}
	}
	for _, key := range ended {
		delete(s.leases, key)
	}
	for _, key := range ended {
		s.serve(key)
	}
}

// run lets a lease run by itself.
func (s *scripted) run(key string, l *scriptedLease, ttl time.Duration) {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.session, l.ttl, l.deadline = "", ttl, time.Now().Add(ttl)
	l.timer = time.AfterFunc(ttl, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.leases[key] == l && l.session == "" && !time.Now().Before(l.deadline) { // it may be in a session by now
			s.free(key)
		}
	})
}

// free ends a lease.
func (s *scripted) free(key string) {
	delete(s.leases, key)
	s.serve(key)
}

func (s *scripted) serve(key string) {
	if q := s.queues[key]; len(q) > 0 && s.leases[key] == nil {
		s.queues[key] = q[1:]
		s.grant(key, q[0].request, q[0].answer)
	}
}

func (s *scripted) release(key string, r *messages.ReleaseRequest) *messages.Reply {
	if i := slices.IndexFunc(s.queues[key], func(w scriptedWaiter) bool {
		return w.request.GetRequestId() == r.GetRequestId()
	}); i >= 0 {
		s.queues[key] = slices.Delete(s.queues[key], i, i+1)
		return &messages.Reply{Status: messages.Status_CANCELLED}
	}
	if l := s.leases[key]; l == nil || l.token != r.GetToken() {
		return &messages.Reply{Status: messages.Status_NOT_HELD}
	}
	s.free(key)
	return &messages.Reply{Status: messages.Status_RELEASED}
}

func (s *scripted) extend(key string, r *messages.ExtendRequest) *messages.Reply {
	l := s.leases[key]
	if l == nil || l.token != r.GetToken() {
		return &messages.Reply{Status: messages.Status_EXPIRED}
	}
	if s.refuse != nil {
		if status := s.refuse(key, r); status != 0 {
			return &messages.Reply{Status: status, Error: "refused"}
		}
	}
	if n := r.GetTokens(); n > l.tokens {
		s.tokens[key] += uint64(n - l.tokens)
		l.tokens = n
	}
	ttl, joins := millis(r.GetTtlMs()), r.GetSession() != l.session
	switch id := r.GetSession(); {
	case r.GetOrder() > 0 && r.GetOrder() < l.order:
		return &messages.Reply{Status: messages.Status_EXTENDED, Lease: s.lease(key), Order: l.order}
	case id != "":
		x := s.open(id, ttl)
		if time.Until(x.deadline) < min(ttl, x.ttl) {
			s.prolong(id, min(ttl, x.ttl))
		}
		l.session, l.ttl = id, x.ttl
		if joins && len(s.queues[key]) > 0 {
			s.notice(key, false)
		}
	default:
		s.run(key, l, ttl)
	}
	l.order = max(l.order, r.GetOrder())
	return &messages.Reply{Status: messages.Status_EXTENDED, Lease: s.lease(key), Order: l.order,
		Waiting: uint32(len(s.queues[key]))}
}

func (s *scripted) set(key string, r *messages.SetRequest) *messages.Reply {
	l := s.leases[key]
	if l == nil || l.token != r.GetToken() {
		return &messages.Reply{Status: messages.Status_EXPIRED}
	}
	if r.GetOrder() == 0 || r.GetOrder() >= l.setOrder {
		l.metadata, l.setOrder = r.GetMetadata(), max(l.setOrder, r.GetOrder())
	}
	return &messages.Reply{Status: messages.Status_UPDATED, Lease: s.lease(key), Order: l.setOrder}
}

// leave is what another process of the owner does with a lease: it extends it by itself, or releases it. Neither is a
// loss.
func (s *scripted) leave(key string, extended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[key]
	switch {
	case l == nil:
	case extended:
		l.order++
		s.run(key, l, l.ttl)
	default:
		s.free(key)
	}
}

// shorten is what another process of the owner does that asks for less time.
func (s *scripted) shorten(key string, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[key]
	l.order += 100
	s.run(key, l, ttl)
}

func (s *scripted) get(key string) *messages.Reply {
	if s.leases[key] == nil {
		return &messages.Reply{Status: messages.Status_FREE}
	}
	return &messages.Reply{Status: messages.Status_HELD, Lease: s.lease(key), Held: 1,
		Holders: []*messages.Lease{s.lease(key)}}
}

func (s *scripted) keep(id string, r *messages.KeepRequest) *messages.Reply {
	x := s.sessions[id]
	if x == nil {
		return &messages.Reply{Status: messages.Status_NOT_HELD}
	}
	s.prolong(id, millis(r.GetTtlMs()))
	x.patience = millis(r.GetDisconnectMs())
	s.heard(id)
	reply := &messages.Reply{Status: messages.Status_EXTENDED, Losses: x.losses}
	if x.alive = ""; r.GetNotices() {
		x.alive = r.GetAlive()
	}
	for key, l := range s.leases {
		if l.session != id {
			continue
		}
		reply.Held++
		if r.GetNotices() && (l.refused || len(s.queues[key]) > 0) {
			reply.Wanted = append(reply.Wanted, key)
		}
		l.refused = false
	}
	return reply
}

// leaseOf returns the lease of a resource, nil if it is free.
func (s *scripted) leaseOf(key string) *scriptedLease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases[key]
}

// lease returns the public view of a lease.
func (s *scripted) lease(key string) *messages.Lease {
	l := s.leases[key]
	deadline, label := l.deadline, ""
	if l.session != "" {
		deadline, label = s.sessions[l.session].deadline, messages.SessionLabel(messages.SessionHash(l.session))
	}
	return &messages.Lease{
		Resource: key, Owner: l.request.GetOwner(), Token: l.token, TtlMs: inMillis(l.ttl), Session: label,
		RemainingMs: uint32(time.Until(deadline) / time.Millisecond), Metadata: l.metadata,
		Tokens: l.tokens,
	}
}
