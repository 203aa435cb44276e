package request

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/internal/group"
	"github.com/holdfast-io/holdfast/messages"
)

// Config is the settings of a [Sender].
type Config struct {
	// Prefix is what the deployment's subjects begin with; empty: [messages.DefaultPrefix].
	Prefix messages.Prefix
	// Expected: the caller knows that the deployment is there, so that its first answer may take as long as any other
	// one.
	Expected bool
	// Orphan is called with each lease whose grant came too late: nothing expected the answer any more. The
	// lease should be released. It is called on the goroutine of the subscription, or of the caller of
	// [Exchange.Finish], and must not block. nil: such leases run out.
	Orphan func(*messages.Lease)
	// Notice is called with each notice that others want the resource of a lease, on the goroutine of the subscription. It
	// must not block. A notice may be forged. nil: they are dropped.
	Notice func(*messages.Notice)
	// Reconnected is called when the connection is there again, since messages may have been lost. It must
	// not block. nil: nothing is called.
	Reconnected func()
}

// Sender sends requests on a NATS connection, and takes their answers in. It is safe for concurrent use.
type Sender struct {
	nc       *nats.Conn
	cfg      Config
	router   router
	batching batching
	attempts attempts
	// alarms are those of the exchanges under way, signals those of exchanges that are over.
	alarms  alarm.Heap
	signals sync.Pool
	// room is what the goroutine that publishes encodes batches in.
	room []byte

	// inbox is what reply subjects begin with, which cannot be guessed, and names their ends.
	inbox        string
	names        names
	subscription *nats.Subscription
	status       chan nats.Status
	// begun is when the sender was made. inboxDenied is why NATS sends it no answers.
	begun       time.Time
	inboxDenied atomic.Pointer[error]
	// reached: a node has answered.
	reached atomic.Bool
	// off: the connection is closed, or begins to drain.
	off atomic.Bool
	// connection counts the interruptions of the connection that are over.
	connection atomic.Uint64

	mu          sync.Mutex
	reconnected chan struct{}

	goroutines group.Group
	stop       context.CancelFunc
	stopped    <-chan struct{}
}

// NewSender returns a sender. It does not wait for the deployment. [Sender.Close] ends it. An error is the
// connection's.
func NewSender(nc *nats.Conn, cfg Config) (*Sender, error) {
	if cfg.Prefix == "" {
		cfg.Prefix = messages.DefaultPrefix
	}
	counted := nc.NewInbox() // what it begins with is that of the connection
	s := &Sender{
		nc: nc, cfg: cfg,
		begun:       clock.Now(),
		inbox:       counted[:strings.LastIndexByte(counted, '.')+1] + rand.Text() + ".",
		names:       newNames(),
		reconnected: make(chan struct{}),
	}
	s.reached.Store(cfg.Expected)
	s.attempts.ready = make(signal, 1)
	s.signals.New = func() any { return make(signal, 1) }
	s.router.prefix, s.router.begun = cfg.Prefix, time.Now()
	var err error
	if s.subscription, err = nc.Subscribe(s.inbox+"*", s.answered); err != nil {
		return nil, fmt.Errorf("listen for answers: %w", err)
	}
	life, stop := context.WithCancel(context.Background())
	s.stop, s.stopped = stop, life.Done()
	watchDenials(s)
	s.status = nc.StatusChanged(nats.CONNECTED, nats.CLOSED, nats.DRAINING_SUBS)
	s.goroutines.Go(s.publishAll)
	s.goroutines.Go(s.watchConnection)
	return s, nil
}

// Close stops the sender. It publishes one-way messages that are still queued, drops other ones, and waits
// until its goroutines have ended. It returns false if ctx ends earlier. The connection stays open.
func (s *Sender) Close(ctx context.Context) bool {
	s.stop()
	s.alarms.Close()
	return s.goroutines.Wait(ctx)
}

// SetDeployment sets how many shards the deployment has and what it offers, as its info says. Until then no request
// takes the direct route to the owner of its shard, and none is sent in a batch.
func (s *Sender) SetDeployment(shards uint32, features []string) {
	s.router.shards.Store(shards)
	s.batching.offer(slices.Contains(features, messages.FeatureBatch))
}

// Route returns where the nth attempt, counted from 0, of a request about a resource goes.
func (s *Sender) Route(op messages.Operation, key string, n int) Route {
	return s.router.route(op, key, n)
}

// RouteIn is [Sender.Route] of a request about something that is in a shard, as a session is, and not in that of its
// key.
func (s *Sender) RouteIn(shard uint32, op messages.Operation, key string, n int) Route {
	r := s.router.route(op, key, n)
	r.shard = shard
	return r
}

// Listens returns a subject on which the sender listens, for notices and for what shows that it does. The name is no
// number of an attempt.
func (s *Sender) Listens() string { return s.inbox + aliveName }

const aliveName = "_alive"

// Message is what an attempt sends.
type Message struct {
	// Header is as in [Request].
	Header  nats.Header
	Payload []byte
	// Owner is whose lease may be granted, extended or set; empty: anybody's.
	Owner string
}

// Send sends one attempt and returns its number, which grows from attempt to attempt. It does not block. receive is
// called at most once, with the answer or the reason why the attempt was not sent, until [Sender.Forget]. It runs on
// the goroutine of the subscription or of the publisher, and must not block. nil: no answer is expected.
func (s *Sender) Send(to Route, m Message, receive func(*Answer)) uint64 {
	return s.send(new(attempt), to, m, receive)
}

// send is Send with room for the attempt.
func (s *Sender) send(a *attempt, to Route, m Message, receive func(*Answer)) uint64 {
	*a = attempt{
		to: to, header: m.Header, payload: m.Payload, owner: m.Owner, receive: receive, sent: clock.Now(),
		encoding: messages.EncodingOf("", m.Payload),
	}
	s.attempts.add(a)
	s.attempts.enqueue(a)
	return a.id
}

// Forget makes the answers to the attempts orphans.
func (s *Sender) Forget(ids ...uint64) { s.attempts.forget(ids...) }

// LastID returns the number of the latest attempt or message.
func (s *Sender) LastID() uint64 { return s.attempts.last.Load() }

// Reconnected returns a channel that is closed when the connection is there again after an interruption.
func (s *Sender) Reconnected() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reconnected
}

// IsOff reports whether the connection is closed or drains: no answer comes any more.
func (s *Sender) IsOff() bool { return s.off.Load() }

// watchConnection reports when the connection is there again, since what was sent may have been lost with
// the last one, and when it will not be there again.
func (s *Sender) watchConnection() {
	for !s.nc.IsClosed() && !s.nc.IsDraining() {
		select {
		case status := <-s.status:
			if status == nats.CONNECTED {
				s.reconnect()
			}
		case <-s.stopped:
			return
		}
	}
	s.off.Store(true)
	s.alarms.WakeAll()
}

func (s *Sender) reconnect() {
	s.batching.tryAgain(true)
	s.inboxDenied.Store(nil) // the subscription was made anew, and is denied anew if it still is
	s.mu.Lock()
	close(s.reconnected)
	s.reconnected = make(chan struct{})
	s.mu.Unlock()
	s.connection.Add(1)
	s.alarms.WakeAll()
	if s.cfg.Reconnected != nil {
		s.cfg.Reconnected()
	}
}

// publishAll hands attempts to the connection. That blocks while the socket takes nothing, which must not
// delay a timer or the end of a context: no other goroutine publishes.
func (s *Sender) publishAll() {
	var queue []*attempt
	for {
		select {
		case <-s.attempts.ready:
		case <-s.stopped:
			s.finish()
			return
		}
		if s.attempts.count() > 1 {
			runtime.Gosched() // goroutines whose answers came together ask again now, and go into one batch
		}
		queue = s.attempts.takeOutbox(queue)
		s.publishQueue(queue)
	}
}

// publishQueue publishes what has come together for one shard as one message, if batches are taken.
func (s *Sender) publishQueue(queue []*attempt) {
	if len(queue) > 1 {
		batches, try := s.batching.may(s.router.now())
		if batches {
			s.publishBatches(queue)
			return
		}
		if try {
			s.tryBatch(queue)
		}
	}
	for _, a := range queue {
		s.publishAlone(a)
	}
}

// publishBatches publishes in batches what can be, and the rest alone.
func (s *Sender) publishBatches(queue []*attempt) {
	batches, alone := bundle(queue, int(s.nc.MaxPayload()))
	for _, b := range batches {
		if len(b.calls) == 1 {
			alone = append(alone, b.calls...)
			continue
		}
		s.room = b.appendTo(s.room[:0]) // NATS copies it
		err := s.publishBatch(b.shard, s.attempts.batch(b.calls), s.room)
		for _, a := range b.calls {
			s.published(a, err)
		}
	}
	for _, a := range alone {
		s.publishAlone(a)
	}
}

func (s *Sender) publishAlone(a *attempt) { s.published(a, s.publish(a)) }

// published notes that an attempt was published, or not because of err.
func (s *Sender) published(a *attempt, err error) {
	a.payload = nil // the answer may take long
	if err != nil {
		s.notPublished(a, err)
	}
}

// notPublished hands the receiver of an attempt the reason why NATS has not published it.
func (s *Sender) notPublished(a *attempt, err error) {
	if s.attempts.take(a.id) == nil {
		return
	}
	answer := a.answer()
	answer.NotSent = err
	a.receive(answer)
}

// tryBatch sends a batch of an empty call to the shard of one of the requests. Its answer, which is INVALID, says that
// batches are taken.
func (s *Sender) tryBatch(queue []*attempt) {
	if i := slices.IndexFunc(queue, func(a *attempt) bool { return a.to.direct }); i >= 0 {
		payload := Encode(&messages.Batch{Calls: []*messages.Call{{}}})
		_ = s.publishBatch(queue[i].to.shard, s.attempts.batch(nil), payload) // without an answer there are no batches
	}
}

func (s *Sender) publishBatch(shard uint32, id uint64, payload []byte) error {
	return s.publishTo(s.router.prefix.Batch(messages.Shard{Number: shard}), s.names.of(id, true), nil, payload)
}

// finish publishes what needs no answer, and takes leave of the connection.
func (s *Sender) finish() {
	for _, a := range s.attempts.takeOutbox(nil) {
		if a.receive == nil {
			_ = s.publish(a) // the lease then runs out
		}
	}
	ignoreDenials(s)
	s.nc.RemoveStatusListener(s.status)
	_ = s.subscription.Unsubscribe() // fails if the connection has been closed or drained, which does as well
}

func (s *Sender) publish(a *attempt) error {
	return s.publishTo(a.to.of(s.router.prefix), s.names.of(a.id, false), a.header, a.payload)
}

func (s *Sender) publishTo(subject, name string, header nats.Header, payload []byte) error {
	if !s.nc.IsConnected() {
		return s.notConnected() // a buffered attempt would leave at an unknown time
	}
	reply := s.inbox + name
	if header == nil {
		return s.nc.PublishRequest(subject, reply, payload) // it allocates no message
	}
	return s.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Header: header, Data: payload})
}

// answered hands an answer to the receiver of its attempt.
func (s *Sender) answered(m *nats.Msg) {
	if !noResponders(m) {
		s.reached.Store(true)
	}
	name := strings.TrimPrefix(m.Subject, s.inbox)
	id, batched, ok := s.names.number(name)
	switch {
	case name == aliveName:
		s.noticed(m)
	case !ok: // no attempt has such a subject
	case !batched:
		s.take(&Answer{ID: id, msg: m}, 0)
	case noResponders(m):
		deliver(s.attempts.takeBatch(id), func(a *Answer) { a.msg = m })
	default:
		s.answeredBatch(id, m)
	}
}

// noticed takes in what has come to [Sender.Listens]: a notice, or an empty message.
func (s *Sender) noticed(m *nats.Msg) {
	var n messages.Notice
	if s.cfg.Notice != nil && len(m.Data) > 0 && messages.DecodeReply(messages.Protobuf, m.Data, &n) == nil {
		s.cfg.Notice(&n)
	}
}

// answeredBatch hands the answers to calls to the receivers of their attempts. An answer to the batch as a whole says
// that it had no effect. A message that cannot be decoded says nothing.
func (s *Sender) answeredBatch(id uint64, m *nats.Msg) {
	var reply messages.BatchReply
	if messages.DecodeReply(messages.Protobuf, m.Data, &reply) != nil {
		return
	}
	s.batching.prove()
	for _, answer := range reply.GetAnswers() {
		if answer.GetId() > 0 {
			s.take(&Answer{ID: answer.GetId(), reply: answer.GetReply(), decoded: true}, id)
		} else if refused := s.attempts.takeBatch(id); len(refused) > 0 {
			s.batching.offer(false) // the node does not understand them; first, since receivers send again
			deliver(refused, func(a *Answer) { a.NotSent = &Refusal{answer.GetReply()} })
		}
	}
}

// deliver hands each attempt of a batch that had no effect its answer, which is as set says.
func deliver(attempts []*attempt, set func(*Answer)) {
	for _, t := range attempts {
		a := t.answer()
		set(a)
		t.receive(a)
	}
}

// take hands an answer to the receiver of its attempt, which came in answer to a batch; 0: alone. One that does not fit
// is dropped. A copy of a request is answered, too. After a grant that is the same lease, which the receiver may be
// about to hold.
func (s *Sender) take(a *Answer, batch uint64) {
	t, sentIn := s.attempts.find(a.ID)
	if t != nil {
		a.Sent, a.direct, a.encoding = t.sent, t.to.direct, t.encoding
		if sentIn != batch || !t.fits(a) {
			return
		}
		t = s.attempts.take(a.ID)
	}
	if t == nil {
		if !s.attempts.hasGranted(a.ID) {
			s.orphan(a)
		}
		return
	}
	if a.direct && !a.NoResponders() {
		s.router.detour.end()
	}
	if t.to.op == messages.OpAcquire && a.grants() {
		s.attempts.grant(a.ID)
	}
	t.receive(a)
}

// orphan takes in an answer that is not expected any more.
func (s *Sender) orphan(a *Answer) {
	if s.cfg.Orphan != nil && a.grants() {
		s.cfg.Orphan(a.reply.GetLease())
	}
}
