// Package service makes a node a NATS service: it counts the requests at each endpoint and answers `nats micro ls`,
// `info` and `stats`. NATS's own package for services cannot count endpoints that come and go, as those of shards
// do, and the times that it reports would end before the commit. Times and errors are left out: the answers by
// status, which the node adds, say more.
package service

import (
	"crypto/rand"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// What may wait to be read on one subscription for questions about the service.
const (
	pendingMessages = 1 << 12
	pendingBytes    = 1 << 20
)

// Service is one instance of a NATS service. Its endpoints are added before it is opened; it is safe for concurrent
// use after that.
type Service struct {
	info      micro.Info
	started   time.Time
	endpoints []*Endpoint
}

// Endpoint counts the requests of one kind. It is safe for concurrent use.
type Endpoint struct {
	micro.EndpointInfo
	requests atomic.Uint64
}

// New returns a service without endpoints. A version that is not semantic, as NATS wants it, becomes a suffix of
// 0.0.0.
func New(name, version, description string, metadata map[string]string) *Service {
	return &Service{started: time.Now().UTC(), info: micro.Info{
		ServiceIdentity: micro.ServiceIdentity{
			Name: name, ID: rand.Text(), Version: semanticVersion(version), Metadata: metadata,
		},
		Type: micro.InfoResponseType, Description: description,
	}}
}

// Endpoint adds an endpoint. It subscribes to nothing.
func (s *Service) Endpoint(name, subject, group string) *Endpoint {
	e := &Endpoint{EndpointInfo: micro.EndpointInfo{Name: name, Subject: subject, QueueGroup: group}}
	s.endpoints = append(s.endpoints, e)
	s.info.Endpoints = append(s.info.Endpoints, e.EndpointInfo)
	return e
}

// Counted returns a handler that counts each message and hands it on.
func (e *Endpoint) Counted(handle nats.MsgHandler) nats.MsgHandler {
	return func(m *nats.Msg) {
		e.requests.Add(1)
		handle(m)
	}
}

// Open subscribes to the questions of NATS's tools. data returns what stats adds to the numbers of requests;
// mayAnswer reports whether a message may be answered.
func (s *Service) Open(nc *nats.Conn, data func() any, mayAnswer func(*nats.Msg) bool) error {
	for _, question := range []struct {
		verb   micro.Verb
		answer func() any
	}{
		{micro.PingVerb, func() any {
			return micro.Ping{ServiceIdentity: s.info.ServiceIdentity, Type: micro.PingResponseType}
		}},
		{micro.InfoVerb, func() any { return s.info }},
		{micro.StatsVerb, func() any { return s.stats(data()) }},
	} {
		for _, of := range [][2]string{{"", ""}, {s.info.Name, ""}, {s.info.Name, s.info.ID}} {
			subject, err := micro.ControlSubject(question.verb, of[0], of[1])
			if err != nil {
				return err
			}
			sub, err := nc.Subscribe(subject, func(m *nats.Msg) {
				if mayAnswer(m) {
					respond(m, question.answer())
				}
			})
			if err != nil {
				return err
			}
			if err := sub.SetPendingLimits(pendingMessages, pendingBytes); err != nil {
				return err
			}
		}
	}
	return nil
}

func respond(m *nats.Msg, answer any) {
	if data, err := json.Marshal(answer); err == nil {
		_ = m.Respond(data) // a tool without an answer asks again
	}
}

// stats is as NATS's tools read it.
type stats struct {
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
	// Data is that of the whole service, with the first endpoint only.
	Data any `json:"data,omitempty"`
}

func (s *Service) stats(data any) stats {
	all := stats{ServiceIdentity: s.info.ServiceIdentity, Type: micro.StatsResponseType, Started: s.started}
	for _, e := range s.endpoints {
		all.Endpoints = append(all.Endpoints, endpointStats{
			Name: e.Name, Subject: e.Subject, QueueGroup: e.QueueGroup, NumRequests: e.requests.Load(),
		})
	}
	all.Endpoints[0].Data = data
	return all
}
