package identity

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// Own makes a request one of its sender: an empty owner becomes the identity, and another owner has to be the identity
// or to begin with it and a slash, else it returns an [messages.InvalidError]. A request that names no owner stays as
// it is.
func Own(id string, request proto.Message) error {
	owner := ownerOf(request)
	switch {
	case owner == nil || *owner == id || strings.HasPrefix(*owner, id+"/"):
		return nil
	case *owner == "":
		*owner = id
		return nil
	}
	rule := fmt.Sprintf("%q, which NATS says that you are, or that and a slash and a name", id)
	return messages.Invalid("owner", rule, fmt.Sprintf("%.64q", *owner))
}

// ownerOf returns the owner of a request; nil if it names none.
func ownerOf(request proto.Message) *string {
	switch r := request.(type) {
	case *messages.AcquireRequest:
		return &r.Owner
	case *messages.ReleaseRequest:
		return &r.Owner
	case *messages.ExtendRequest:
		return &r.Owner
	case *messages.SetRequest:
		return &r.Owner
	}
	return nil
}
