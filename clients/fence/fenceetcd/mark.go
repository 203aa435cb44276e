package fenceetcd

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

// DefaultPrefix is the prefix of the keys of high-water marks. A guard refuses it in keys of the caller.
const DefaultPrefix = "holdfast/marks/"

const (
	firstToken fence.Token = 1
	// toTheEnd is the end of a range that has none.
	toTheEnd = "\x00"
)

// MarkKey returns the key of the resource's high-water mark, for an operator. It holds 15 digits, or does
// not exist.
func (g *Guard) MarkKey(resource string) string {
	return g.prefix + resource
}

// refused is the error of a claim that the mark has not let pass.
func (g *Guard) refused(c fence.Claim, kvs []*mvccpb.KeyValue) error {
	if len(kvs) != 1 {
		return fmt.Errorf("resource %q: etcd compared the mark, and then did not find it", c.Resource)
	}
	highest, err := fence.ParseToken(string(kvs[0].Value))
	if err != nil {
		return g.foreign(c, err.Error())
	}
	return fence.Refused(c, highest)
}

// replaced is the error of a write that replaced a malformed mark. Etcd cannot distinguish text that sorts between two
// tokens, such as 16 digits, from a token.
func (g *Guard) replaced(c fence.Claim, before *mvccpb.KeyValue) error {
	if before == nil {
		return nil
	}
	if _, err := fence.ParseToken(string(before.Value)); err != nil {
		return g.foreign(c, err.Error()+"; it was replaced, and the write was made")
	}
	return nil
}

// foreign takes the reason as text, for an invalid mark is not an invalid claim.
func (g *Guard) foreign(c fence.Claim, reason string) error {
	return fmt.Errorf("resource %q, key %q: %w: %s", c.Resource, g.MarkKey(c.Resource), fence.ErrMalformed, reason)
}

// checkOps refuses operations that touch marks, or that etcd's client would panic on.
func (g *Guard) checkOps(ops []clientv3.Op) error {
	for _, op := range ops {
		if err := g.checkOp(op); err != nil {
			return err
		}
	}
	return nil
}

func (g *Guard) checkOp(op clientv3.Op) error {
	switch {
	case op.IsTxn():
		_, then, otherwise := op.Txn()
		return cmp.Or(g.checkOps(then), g.checkOps(otherwise))
	case !op.IsPut() && !op.IsGet() && !op.IsDelete():
		return messages.Invalid("operation", "from clientv3.OpPut, OpGet, OpDelete or OpTxn", "an empty one")
	case g.touchesMarks(string(op.KeyBytes()), string(op.RangeBytes())):
		return messages.Invalid("operation", "does not touch "+strconv.Quote(g.prefix)+", where the marks are",
			fmt.Sprintf("%q to %q", op.KeyBytes(), op.RangeBytes()))
	}
	return nil
}

// touchesMarks reports whether the range of an operation, a single key if it has no end, meets the marks.
func (g *Guard) touchesMarks(key, end string) bool {
	switch end {
	case "":
		return strings.HasPrefix(key, g.prefix)
	case toTheEnd:
		return key < clientv3.GetPrefixRangeEnd(g.prefix)
	}
	return key < clientv3.GetPrefixRangeEnd(g.prefix) && end > g.prefix
}
