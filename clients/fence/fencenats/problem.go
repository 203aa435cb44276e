package fencenats

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// ErrUnanswered says that the sender of a message got no answer about its refusal: it asked for no
// answer, for one to a subject below $, or the answer could not be sent.
var ErrUnanswered = errors.New("the sender got no answer")

const headerContentType = "Content-Type"

// Error answers a request with the problem that err is to a client, see [fence.NewProblem]. It is for
// handlers, too, whose store refuses the claim that they pass on. It is [ErrUnanswered] if the
// sender cannot be answered.
func Error(r micro.Request, err error) error {
	p := fence.NewProblem(err)
	return answer(p, r.Reply(), func(body []byte) error {
		return r.Error(strconv.Itoa(p.Status), p.Detail, body,
			micro.WithHeaders(micro.Headers{headerContentType: {fence.ProblemType}}))
	})
}

// MsgError is [Error] for a message of a plain subscription.
func MsgError(m *nats.Msg, err error) error {
	p := fence.NewProblem(err)
	return answer(p, m.Reply, func(body []byte) error {
		return m.RespondMsg(&nats.Msg{Data: body, Header: nats.Header{
			micro.ErrorHeader:     {p.Detail},
			micro.ErrorCodeHeader: {strconv.Itoa(p.Status)},
			headerContentType:     {fence.ProblemType},
		}})
	})
}

// answer sends the problem if the sender asked for an answer. Below $ it would speak to JetStream, with rights that
// the sender may not have.
func answer(p fence.Problem, reply string, send func(body []byte) error) error {
	if reply == "" || strings.HasPrefix(reply, "$") {
		return fmt.Errorf("%w: reply subject %q", ErrUnanswered, reply)
	}
	body, _ := json.Marshal(p) // strings and a number: it cannot fail
	if err := send(body); err != nil {
		return fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	return nil
}

// ResponseError returns the error that an answer stands for, as it was where the message was refused: a
// [fence.StaleError] for a stale token. It is nil if the answer has no problem document.
func ResponseError(m *nats.Msg) error {
	if !isProblem(m.Header) {
		return nil
	}
	var p fence.Problem
	if err := json.Unmarshal(m.Data, &p); err != nil {
		return fmt.Errorf("%s %s: its problem document cannot be read: %w",
			m.Header.Get(micro.ErrorCodeHeader), m.Header.Get(micro.ErrorHeader), err)
	}
	return p.Err()
}

// isProblem reports whether a content type is that of a problem document. Services in other languages
// write header names in their own way, and add parameters.
func isProblem(h nats.Header) bool {
	for name, values := range h {
		if !strings.EqualFold(name, headerContentType) {
			continue
		}
		for _, v := range values {
			if media, _, err := mime.ParseMediaType(v); err == nil && media == fence.ProblemType {
				return true
			}
		}
	}
	return false
}
