package messages_test

import (
	"errors"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

func TestRefuse(t *testing.T) {
	reply := messages.Refuse(messages.Status_OVERLOADED, errors.New("too many waiting"))
	if reply.GetStatus() != messages.Status_OVERLOADED || reply.GetError() != "too many waiting" ||
		reply.GetLease() != nil {
		t.Errorf("got %v", reply)
	}
}

func TestRefusalCanAlwaysBeEncoded(t *testing.T) {
	reply := messages.Refuse(messages.Status_INVALID, errors.New("bad \xff byte"))
	if reply.GetError() != "bad \uFFFD byte" {
		t.Errorf("got %q", reply.GetError())
	}
	for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
		if _, err := messages.Encode(e, reply); err != nil {
			t.Errorf("%v: %v", e, err)
		}
	}
}

func TestServiceCode(t *testing.T) {
	codes := map[messages.Status]int{
		messages.Status_INVALID:     400,
		messages.Status_OVERLOADED:  429,
		messages.Status_UNAVAILABLE: 503,
		messages.Status_EXHAUSTED:   507,
	}
	for n := range messages.Status_name {
		status := messages.Status(n)
		want, isError := codes[status]
		if code, ok := status.ServiceCode(); code != want || ok != isError {
			t.Errorf("%v: %d, %t", status, code, ok)
		}
	}
}
