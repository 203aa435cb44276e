package simnats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// What JetStream is asked with, and how it answers: see the API of JetStream of nats-server 2.15.

const apiPrefix = "$JS.API."

// apiError is a refusal.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func refusal(code, errCode int, format string, args ...any) *apiError {
	return &apiError{code, errCode, fmt.Sprintf(format, args...)}
}

var errStreamNotFound = refusal(404, 10059, "stream not found")

// answer sends an answer of JetStream.
func (n *Network) answer(at *server, reply string, body any) {
	if reply == "" {
		return
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	n.route(at, &message{subject: reply, data: data})
}

func (n *Network) refuse(at *server, reply string, err *apiError) {
	n.answer(at, reply, map[string]any{"type": "io.nats.jetstream.api.v1.error", "error": err})
}

// store lets JetStream have a message, and reports whether it is for it.
func (n *Network) store(at *server, m *message) bool {
	if m.from == nil || m.delivered != "" || m.account != n.JetStream {
		return false // it comes from JetStream, or does not reach it
	}
	if api, is := strings.CutPrefix(m.subject, apiPrefix); is {
		n.request(at, api, m)
		return true
	}
	some := false
	for _, name := range slices.Sorted(maps.Keys(n.streams)) {
		s := n.streams[name]
		for _, pattern := range s.config.Subjects {
			if matches(pattern, m.subject) {
				some = true
				n.toLeaders(at, s, func(r *replica) { r.take(m) })
				break
			}
		}
	}
	return some
}

// toLeaders lets everything that takes itself for the leader of a stream do something.
func (n *Network) toLeaders(at *server, s *stream, do func(*replica)) {
	for _, r := range s.replicas {
		n.between(at, r.server, s.config.Name, func() {
			if r.leads {
				do(r)
			}
		})
	}
}

// request takes a request to the API.
func (n *Network) request(at *server, api string, m *message) {
	words := strings.Split(api, ".")
	name := ""
	if len(words) > 2 {
		name = words[len(words)-1]
	}
	switch {
	case api == "INFO":
		n.answer(at, m.reply, map[string]any{"type": "io.nats.jetstream.api.v1.account_info_response",
			"api": map[string]any{"level": 3}})
	case api == "STREAM.NAMES":
		n.toMeta(at, func(leader *server) { n.names(leader, m) })
	case strings.HasPrefix(api, "STREAM.CREATE."):
		n.toMeta(at, func(leader *server) { n.create(leader, name, m) })
	case strings.HasPrefix(api, "STREAM.UPDATE."):
		n.toMeta(at, func(leader *server) { n.update(leader, name, m) })
	case strings.HasPrefix(api, "STREAM.DELETE."):
		n.toMeta(at, func(leader *server) {
			if n.streams[name] == nil {
				n.refuse(leader, m.reply, errStreamNotFound)
				return
			}
			delete(n.streams, name)
			n.answer(leader, m.reply, map[string]any{"type": "io.nats.jetstream.api.v1.stream_delete_response",
				"success": true})
		})
	case strings.HasPrefix(api, "STREAM.INFO."):
		n.ofStream(at, name, m, (*replica).info)
	case strings.HasPrefix(api, "STREAM.PURGE."):
		n.ofStream(at, name, m, (*replica).purge)
	case strings.HasPrefix(api, "STREAM.MSG.GET."):
		n.ofStream(at, name, m, (*replica).get)
	case strings.HasPrefix(api, "STREAM.LEADER.STEPDOWN."):
		n.ofStream(at, name, m, (*replica).stepDown)
	case strings.HasPrefix(api, "CONSUMER.CREATE."):
		n.toMeta(at, func(leader *server) { n.createConsumer(leader, words[2], words[3], m) })
	case strings.HasPrefix(api, "CONSUMER.DELETE."):
		n.toMeta(at, func(leader *server) {
			if s := n.streams[words[2]]; s != nil && s.consumers[words[3]] != nil {
				s.consumers[words[3]].remove()
			}
			n.answer(leader, m.reply, map[string]any{"type": "io.nats.jetstream.api.v1.consumer_delete_response",
				"success": true})
		})
	case strings.HasPrefix(api, "CONSUMER.MSG.NEXT."):
		if s := n.streams[words[3]]; s != nil {
			if c := s.consumers[words[4]]; c != nil {
				n.between(at, c.replica.server, "pull", func() { c.pull(m) })
			}
		}
	default:
		panic("the simulation does not know the request " + api)
	}
}

// toMeta lets the leader of all do something, if it has a majority.
func (n *Network) toMeta(at *server, do func(leader *server)) {
	n.electMeta()
	if leader := n.meta.leader; n.quorum(leader, n.servers) {
		n.between(at, leader, "meta", func() {
			if n.meta.leader == leader && n.quorum(leader, n.servers) {
				do(leader)
			}
		})
	}
}

// ofStream lets the leaders of a stream answer a request.
func (n *Network) ofStream(at *server, name string, m *message, do func(*replica, *message)) {
	s := n.streams[name]
	if s == nil {
		n.toMeta(at, func(leader *server) { n.refuse(leader, m.reply, errStreamNotFound) })
		return
	}
	n.toLeaders(at, s, func(r *replica) { do(r, m) })
}

func (n *Network) names(at *server, m *message) {
	var request struct {
		Subject string `json:"subject"`
	}
	_ = json.Unmarshal(m.data, &request)
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(n.streams)) {
		if request.Subject == "" || slices.ContainsFunc(n.streams[name].config.Subjects,
			func(s string) bool { return natsserver.SubjectsCollide(s, request.Subject) }) {
			names = append(names, name)
		}
	}
	n.answer(at, m.reply, map[string]any{"type": "io.nats.jetstream.api.v1.stream_names_response",
		"total": len(names), "offset": 0, "limit": 1024, "streams": names})
}

// create makes a stream.
func (n *Network) create(at *server, name string, m *message) {
	var c jetstream.StreamConfig
	if err := json.Unmarshal(m.data, &c); err != nil || c.Name != name {
		n.refuse(at, m.reply, refusal(400, 10025, "invalid JSON: %v", err))
		return
	}
	complete(&c)
	if s := n.streams[name]; s != nil {
		same, _ := json.Marshal(s.config)
		asked, _ := json.Marshal(c)
		if !bytes.Equal(same, asked) {
			n.refuse(at, m.reply, refusal(400, 10058, "stream name already in use with a different configuration"))
			return
		}
		n.answer(at, m.reply, s.shown("stream_create", s.replicas[0], nil))
		return
	}
	var up []*server
	for _, s := range n.servers {
		if n.connected(at, s) || s == at {
			up = append(up, s)
		}
	}
	switch {
	case c.Replicas > 1 && len(n.servers) == 1:
		n.refuse(at, m.reply, refusal(500, 10074, "replicas > 1 not supported in non-clustered mode"))
		return
	case c.Replicas > len(up):
		n.refuse(at, m.reply, refusal(400, 10005, "no suitable peers for placement"))
		return
	}
	for i := range up {
		j := i + n.Bus.Draw("place "+name, len(up)-i)
		up[i], up[j] = up[j], up[i]
	}
	s := &stream{network: n, config: c, created: time.Now(), consumers: make(map[string]*consumer)}
	for _, server := range up[:c.Replicas] {
		s.replicas = append(s.replicas, &replica{stream: s, server: server, store: newStore(c)})
	}
	n.streams[name] = s
	n.Bus.After(n.delay("create "+name), func() {
		s.lead(s.replicas[0])
		n.answer(at, m.reply, s.shown("stream_create", s.replicas[0], nil))
	})
}

// complete sets what the server sets.
func complete(c *jetstream.StreamConfig) {
	c.Replicas = max(c.Replicas, 1)
	for _, limit := range []*int64{&c.MaxMsgs, &c.MaxBytes, &c.MaxMsgsPerSubject} {
		if *limit == 0 {
			*limit = -1
		}
	}
	if c.MaxConsumers == 0 {
		c.MaxConsumers = -1
	}
	if c.MaxMsgSize == 0 {
		c.MaxMsgSize = -1
	}
	if c.Duplicates == 0 {
		c.Duplicates = 2 * time.Minute
	}
}

func (n *Network) update(at *server, name string, m *message) {
	s := n.streams[name]
	if s == nil {
		n.refuse(at, m.reply, errStreamNotFound)
		return
	}
	var c jetstream.StreamConfig
	if err := json.Unmarshal(m.data, &c); err != nil {
		n.refuse(at, m.reply, refusal(400, 10025, "invalid JSON: %v", err))
		return
	}
	complete(&c)
	s.config = c
	for _, r := range s.replicas {
		r.store.config = c
	}
	n.answer(at, m.reply, s.shown("stream_update", s.replicas[0], nil))
}

// shown is what JetStream says of a stream.
func (s *stream) shown(kind string, r *replica, deleted []uint64) map[string]any {
	state := map[string]any{
		"messages": len(r.store.messages), "bytes": r.store.bytes, "first_seq": max(r.store.first(), 1),
		"first_ts": time.Time{}, "last_seq": r.store.last, "last_ts": time.Time{}, "consumer_count": len(s.consumers),
		"num_deleted": len(r.store.deleted()),
	}
	if r.store.last == 0 {
		state["first_seq"] = 0
	}
	if len(deleted) > 0 {
		state["deleted"] = deleted
	}
	shown := map[string]any{
		"type": "io.nats.jetstream.api.v1." + kind + "_response", "config": s.config, "created": s.created,
		"state": state,
		"ts":    time.Now(),
	}
	if len(s.network.servers) > 1 {
		replicas := []map[string]any{}
		for _, o := range s.replicas {
			if o != r {
				replicas = append(replicas, map[string]any{
					"name": o.server.name, "current": o.committed == r.committed, "offline": o.server.down,
					"active": time.Millisecond, "lag": r.committed - o.committed, "peer": o.server.name,
				})
			}
		}
		shown["cluster"] = map[string]any{"name": "simulation", "leader": r.server.name, "replicas": replicas}
	}
	return shown
}

func (r *replica) info(m *message) {
	var request struct {
		Deleted bool `json:"deleted_details"`
	}
	_ = json.Unmarshal(m.data, &request)
	var deleted []uint64
	if request.Deleted {
		deleted = r.store.deleted()
	}
	r.stream.network.answer(r.server, m.reply, r.stream.shown("stream_info", r, deleted))
}

func (r *replica) get(m *message) {
	var request struct {
		Seq    uint64 `json:"seq"`
		Next   string `json:"next_by_subj"`
		LastBy string `json:"last_by_subj"`
	}
	_ = json.Unmarshal(m.data, &request)
	var found *storedMessage
	switch {
	case request.LastBy != "":
		found = r.store.lastOf(request.LastBy)
	case request.Next != "":
		found = r.store.next(request.Seq, request.Next)
	default:
		if found = r.store.next(request.Seq, ""); found != nil && found.sequence != request.Seq {
			found = nil
		}
	}
	if found == nil {
		r.stream.network.refuse(r.server, m.reply, refusal(404, 10037, "no message found"))
		return
	}
	r.stream.network.answer(r.server, m.reply, map[string]any{
		"type": "io.nats.jetstream.api.v1.stream_msg_get_response",
		"message": map[string]any{
			"subject": found.subject, "seq": found.sequence, "hdrs": found.header, "data": found.data, "time": found.at,
		},
	})
}

func (r *replica) purge(m *message) {
	var request struct {
		Filter string `json:"filter"`
		Seq    uint64 `json:"seq"`
	}
	_ = json.Unmarshal(m.data, &request)
	r.propose(proposal{
		do: func(s *store) any { return s.purge(request.Seq, request.Filter) },
		done: func(purged any) {
			r.stream.network.answer(r.server, m.reply, map[string]any{
				"type": "io.nats.jetstream.api.v1.stream_purge_response", "success": true, "purged": purged,
			})
		},
	})
}

// stepDown moves the leadership to the preferred server, or any other one that is as new.
func (r *replica) stepDown(m *message) {
	var request struct {
		Placement struct {
			Preferred string `json:"preferred"`
		} `json:"placement"`
	}
	_ = json.Unmarshal(m.data, &request)
	s := r.stream
	n := s.network
	if len(s.replicas) == 1 {
		n.refuse(r.server, m.reply, refusal(503, 10008, "JetStream system temporarily unavailable"))
		return
	}
	n.answer(r.server, m.reply, map[string]any{
		"type": "io.nats.jetstream.api.v1.stream_leader_stepdown_response", "success": true,
	})
	r.leads = false
	n.Bus.After(25*time.Millisecond+n.delay("step down"), func() {
		if s.leader() != nil {
			return
		}
		if best := s.candidate(request.Placement.Preferred); best != nil {
			s.lead(best)
			return
		}
		s.elect()
	})
}

// take stores a message that was published, if it is as its header expects.
func (r *replica) take(m *message) {
	n := r.stream.network
	header := headerOf(m.header)
	refuse := func(err *apiError) {
		n.answer(r.server, m.reply, map[string]any{"error": err, "stream": r.stream.config.Name, "seq": 0})
	}
	size := len(m.subject) + len(m.header) + len(m.data)
	switch expected, is := number(header, jetstream.ExpectedLastSeqHeader); {
	case r.stream.config.Sealed:
		refuse(refusal(400, 10109, "invalid operation on sealed stream"))
		return
	case is && expected != r.ahead():
		refuse(refusal(400, 10071, "wrong last sequence: %d", r.ahead()))
		return
	case r.stream.config.MaxMsgSize > 0 && size > int(r.stream.config.MaxMsgSize):
		refuse(refusal(400, 10054, "message size exceeds maximum allowed"))
		return
	case r.stream.config.MaxBytes > 0 && r.stream.config.Discard == jetstream.DiscardNew &&
		r.store.bytes+size > int(r.stream.config.MaxBytes):
		refuse(refusal(400, 10077, "maximum bytes exceeded"))
		return
	case r.server.full > 0:
		return // the store fails, and nothing is answered
	}
	at, stored := time.Now(), n.Stored
	r.propose(proposal{
		appends: true,
		do: func(s *store) any {
			sequence := s.append(storedMessage{subject: m.subject, header: m.header, data: m.data, at: at})
			if stored != nil {
				stored(r.stream.config.Name, sequence, m.subject, m.data)
				stored = nil // each replica stores it, and each one that crashed once more
			}
			return sequence
		},
		done: func(sequence any) {
			if m.reply != "" {
				ack := fmt.Appendf(nil, `{"stream":%q,"seq":%d}`, r.stream.config.Name, sequence)
				n.route(r.server, &message{subject: m.reply, data: ack})
			}
		},
	})
}

// headerOf parses the header of a message.
func headerOf(b []byte) textproto.MIMEHeader {
	_, lines, _ := bytes.Cut(b, []byte("\r\n"))
	if len(lines) == 0 {
		return nil
	}
	header, _ := textproto.NewReader(bufio.NewReader(bytes.NewReader(lines))).ReadMIMEHeader()
	return header
}

func number(h textproto.MIMEHeader, name string) (n uint64, is bool) {
	text := h.Get(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}
