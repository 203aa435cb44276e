package node

import (
	"crypto/rand"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

const (
	// serviceName is what `nats micro ls` shows, and the queue group of the front door.
	serviceName = "holdfast"
	// ownerGroup is the queue group of the direct doors.
	ownerGroup = serviceName + "-owner"
)

// service answers `nats micro ls`, `info` and `stats`. NATS's own package for services does that too, but
// cannot count the direct doors, which come and go; and the times that it reports would end before the
// commit. Times and errors are left out: the answers by status say more.
type service struct {
	nc        *nats.Conn
	info      micro.Info
	started   time.Time
	endpoints []*endpoint
	direct    *endpoint
	// data is what there is to say besides.
	data func() any
	// mayAnswer reports whether an answer may go to a subject.
	mayAnswer func(m *nats.Msg) bool
}

// endpoint is one kind of request.
type endpoint struct {
	micro.EndpointInfo
	requests atomic.Uint64
}

// counted is a handler whose requests are counted.
func (e *endpoint) counted(handle nats.MsgHandler) nats.MsgHandler {
	return func(m *nats.Msg) {
		e.requests.Add(1)
		handle(m)
	}
}

func newService(n *Node) *service {
	s := &service{
		nc: n.cfg.Intake, started: time.Now().UTC(), data: func() any { return n.stats() },
		mayAnswer: func(m *nats.Msg) bool { _, ok := n.replyTo(m); return ok },
		info: micro.Info{
			ServiceIdentity: micro.ServiceIdentity{
				Name: serviceName, ID: rand.Text(), Version: semanticVersion(n.cfg.Version),
				Metadata: map[string]string{"node": n.cfg.Name, "prefix": string(n.cfg.Prefix)},
			},
			Type: micro.InfoResponseType, Description: "locks with fencing tokens",
		},
	}
	s.direct = s.endpoint("direct", string(n.cfg.Prefix)+".shard.*.*.>", ownerGroup)
	return s
}

// endpoint adds one. All must be there before the service is opened.
func (s *service) endpoint(name, subject, group string) *endpoint {
	e := &endpoint{EndpointInfo: micro.EndpointInfo{Name: name, Subject: subject, QueueGroup: group}}
	s.endpoints = append(s.endpoints, e)
	s.info.Endpoints = append(s.info.Endpoints, e.EndpointInfo)
	return e
}

// open subscribes to the questions.
func (s *service) open() error {
	for verb, answer := range map[micro.Verb]func() any{
		micro.PingVerb:  func() any { return micro.Ping{ServiceIdentity: s.info.ServiceIdentity, Type: micro.PingResponseType} },
		micro.InfoVerb:  func() any { return s.info },
		micro.StatsVerb: func() any { return s.stats() },
	} {
		for _, of := range [][2]string{{"", ""}, {serviceName, ""}, {serviceName, s.info.ID}} {
			subject, err := micro.ControlSubject(verb, of[0], of[1])
			if err != nil {
				return err
			}
			sub, err := s.nc.Subscribe(subject, func(m *nats.Msg) { s.answer(m, answer) })
			if err != nil {
				return err
			}
			if err := sub.SetPendingLimits(leastMessages, leastBytes); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *service) answer(m *nats.Msg, answer func() any) {
	if !s.mayAnswer(m) {
		return
	}
	data, err := json.Marshal(answer())
	if err == nil {
		_ = m.Respond(data) // it is asked again
	}
}

// serviceStats is as NATS's tools read it.
type serviceStats struct {
	micro.ServiceIdentity
	Type      string          `json:"type"`
	Started   time.Time       `json:"started"`
	Endpoints []endpointStats `json:"endpoints"`
}

type endpointStats struct {
	Name        string `json:"name"`
	Subject     string `json:"subject"`
	QueueGroup  string `json:"queue_group"`
	NumRequests uint64 `json:"num_requests"`
	// Data is said once, with the first endpoint.
	Data any `json:"data,omitempty"`
}

func (s *service) stats() serviceStats {
	all := serviceStats{ServiceIdentity: s.info.ServiceIdentity, Type: micro.StatsResponseType, Started: s.started}
	for _, e := range s.endpoints {
		all.Endpoints = append(all.Endpoints, endpointStats{
			Name: e.Name, Subject: e.Subject, QueueGroup: e.QueueGroup, NumRequests: e.requests.Load(),
		})
	}
	all.Endpoints[0].Data = s.data()
	return all
}
