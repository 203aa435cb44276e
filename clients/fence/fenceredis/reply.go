package fenceredis

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

// errBrokenOff is what is left of an error whose reply was lost.
var errBrokenOff = errors.New("the script stopped half-way at the first try; what it had written stays")

// errChanged says that the claim passed, and that the key has changed since it was read. Nothing was written.
var errChanged = errors.New("the key has changed")

// result reads the script's reply.
func (g *Guard) result(c fence.Claim, reply any) (any, error) {
	answer, ok := reply.([]any)
	if ok && len(answer) == 1 && text(answer[0]) == "broken off" {
		return nil, g.unknown(c, errBrokenOff)
	}
	if ok && len(answer) == 1 && text(answer[0]) == "changed" {
		return nil, errChanged
	}
	if !ok || len(answer) != 2 {
		return nil, g.strange(c, reply)
	}
	switch verdict, detail := text(answer[0]), text(answer[1]); verdict {
	case "passed":
		return answer[1], nil
	case "refused":
		highest, err := fence.ParseToken(detail)
		if err != nil {
			return nil, g.strange(c, reply)
		}
		return nil, fence.Refused(c, highest)
	case "foreign":
		return nil, fmt.Errorf("resource %q, key %q: %w: %+q", c.Resource, g.MarkKey(c.Resource), fence.ErrMalformed,
			detail)
	}
	return nil, g.strange(c, reply)
}

// failed is the error of a command that the server or the driver refused.
func (g *Guard) failed(c fence.Claim, err error) error {
	if hasCode(err, "CROSSSLOT") {
		return messages.Invalid("key", "in a cluster named like its resource, or with its hash tag "+
			strconv.Quote(Tag(c.Resource)),
			"keys in several slots")
	}
	return g.unknown(c, err)
}

func (g *Guard) strange(c fence.Claim, reply any) error {
	return g.unknown(c, fmt.Errorf("the reply is not the script's, or Do changed it: %T %.100v", reply, reply))
}

func (g *Guard) unknown(c fence.Claim, cause error) error {
	return fmt.Errorf("resource %q: %w: %w", c.Resource, fence.ErrUnknown, cause)
}

// text reads a bulk string, which drivers return as one type or the other.
func text(reply any) string {
	switch s := reply.(type) {
	case string:
		return s
	case []byte:
		return string(s)
	}
	return ""
}
