package identity

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/holdfast-io/holdfast/messages"
)

// Own makes a request one of its sender: an empty owner becomes the identity, and another owner has to be the identity
// or to begin with it and a slash, else it returns an [messages.InvalidError]. A request that names no owner stays as
// it is.
func Own(id string, request proto.Message) error {
	m := request.ProtoReflect()
	field := m.Descriptor().Fields().ByName("owner")
	if field == nil {
		return nil
	}
	owner := m.Get(field).String()
	switch {
	case owner == id || strings.HasPrefix(owner, id+"/"): // mutant: OwnerBeginsLikeTheIdentity
		return nil
	case owner == "":
		m.Set(field, protoreflect.ValueOfString(id))
		return nil
	}
	rule := fmt.Sprintf("%q, which NATS says that you are, or that and a slash and a name", id)
	return messages.Invalid("owner", rule, fmt.Sprintf("%.64q", owner))
}
