package fenceetcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

// ErrCompare says that the claim passed, but a comparison of the caller did not. Nothing was written; the
// mark is unchanged.
var ErrCompare = errors.New("the caller's comparison failed")

// Guard writes keys for the holder of the lock on them. It may be used concurrently. The error of a request
// to etcd is [fence.ErrUnknown]: the operations may have been made.
type Guard struct {
	kv     clientv3.KV
	rule   fence.Rule
	prefix string
	// observer receives each claim that was checked; nil: there is no observer.
	observer fence.Observer
}

var _ fence.Marks = (*Guard)(nil)

// Option changes how keys are guarded.
type Option func(*Guard)

// WithRule sets the rule; the default is [fence.Repeatable].
func WithRule(r fence.Rule) Option {
	return func(g *Guard) { g.rule = r }
}

// WithPrefix sets the prefix of the keys of high-water marks; the default is [DefaultPrefix]. All writers of
// a key use the same prefix, and no prefix in use is the beginning of another one.
func WithPrefix(prefix string) Option {
	return func(g *Guard) { g.prefix = prefix }
}

// WithObserver sets the observer, which receives each claim that the guard has checked.
func WithObserver(o fence.Observer) Option {
	return func(g *Guard) { g.observer = o }
}

// New returns a guard of the keys of kv, which is a client, or a part of one from namespace.NewKV. The
// error is [fence.ErrInvalid] if an argument breaks a rule; nothing is sent.
func New(kv clientv3.KV, opts ...Option) (*Guard, error) {
	g := &Guard{kv: kv, prefix: DefaultPrefix}
	for _, o := range opts {
		o(g)
	}
	if err := g.rule.Validate(); err != nil {
		return nil, err
	}
	switch {
	case kv == nil:
		return nil, messages.Invalid("kv", "a client of etcd", "nil")
	case clientv3.GetPrefixRangeEnd(g.prefix) == toTheEnd:
		return nil, messages.Invalid("prefix", "text", strconv.Quote(g.prefix))
	}
	return g, nil
}

// Transact makes the operations, if the claim passes and all comparisons of the caller hold, and raises the
// mark, all in one transaction. The response has a result for each operation, in their order.
//
// The error is a [fence.StaleError] if the rule refuses the claim, [fence.ErrInvalid] if the claim or an
// operation breaks a rule, and [ErrCompare] if a comparison does not hold; nothing was written then. It is
// [fence.ErrMalformed] if the mark is not one, and nothing was written, unless the error says that the mark
// was replaced: etcd cannot distinguish 16 digits between two tokens from a token. After [fence.ErrUnknown] the
// transaction may have been made.
func (g *Guard) Transact(ctx context.Context, c fence.Claim, ops []clientv3.Op,
	cmps ...clientv3.Cmp) (_ *clientv3.TxnResponse, err error) {
	defer g.observer.Conclude("fenceetcd", c, &err)
	if err := cmp.Or(c.Check(), g.checkOps(ops)); err != nil {
		return nil, err
	}
	resp, err := g.txn(ctx, c, ops, cmps).Commit()
	if err != nil {
		return nil, fmt.Errorf("resource %q: %w: %w", c.Resource, fence.ErrUnknown, err)
	}
	return g.result(c, resp)
}

// Modify sets the value of a key to what f makes of the value that it has, which is nil if there is none, on the
// condition that the key is unchanged since. Otherwise it reads again and calls f again, until ctx ends, so no other
// change is lost. The key keeps its lease. If f fails, nothing is written, and the error is that of f. Other errors are
// those of [Guard.Transact]; that of a read is etcd's.
func (g *Guard) Modify(ctx context.Context, c fence.Claim, key string, f func(old []byte) ([]byte, error)) error {
	for {
		resp, err := g.kv.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("resource %q: reading key %q: %w", c.Resource, key, err)
		}
		var old []byte
		seen := new(mvccpb.KeyValue) // of a key that does not exist
		if len(resp.Kvs) > 0 {
			seen = resp.Kvs[0]
			old = append([]byte{}, seen.GetValue()...) // not nil
		}
		value, err := f(old)
		if err != nil {
			return err
		}
		put := clientv3.OpPut(key, string(value), clientv3.WithLease(clientv3.LeaseID(seen.GetLease())))
		_, err = g.Transact(ctx, c, []clientv3.Op{put},
			clientv3.Compare(clientv3.ModRevision(key), "=", seen.GetModRevision()))
		if !errors.Is(err, ErrCompare) {
			return err
		}
	}
}

// Raise raises the mark and writes nothing else; see [fence.Marks]. Errors are those of [Guard.Transact].
func (g *Guard) Raise(ctx context.Context, c fence.Claim) error {
	_, err := g.Transact(ctx, c, nil)
	return err
}

// txn asks for what keeps the claim from passing, since that is false of a mark that does not exist.
func (g *Guard) txn(ctx context.Context, c fence.Claim, ops []clientv3.Op, cmps []clientv3.Cmp) clientv3.Txn {
	mark := g.MarkKey(c.Resource)
	passing := c.Token // the highest mark that lets the claim pass
	if g.rule == fence.Once {
		passing--
	}
	read := clientv3.OpGet(mark)
	raise := clientv3.OpPut(mark, c.Token.String(), clientv3.WithPrevKV())
	write := clientv3.OpTxn(cmps, append(slices.Clip(ops), raise), nil)
	return g.kv.Txn(ctx).
		If(clientv3.Compare(clientv3.Value(mark), ">", passing.String())).
		Then(read).
		Else(clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Value(mark), "<", firstToken.String())},
			[]clientv3.Op{read}, []clientv3.Op{write}))
}

// result follows the branches of txn.
func (g *Guard) result(c fence.Claim, resp *clientv3.TxnResponse) (*clientv3.TxnResponse, error) {
	if resp.Succeeded {
		return nil, g.refused(c, resp.Responses[0].GetResponseRange().GetKvs())
	}
	lower := resp.Responses[0].GetResponseTxn()
	if lower.GetSucceeded() {
		return nil, g.refused(c, lower.Responses[0].GetResponseRange().GetKvs())
	}
	write := (*clientv3.TxnResponse)(lower.Responses[0].GetResponseTxn())
	if !write.Succeeded {
		return nil, fmt.Errorf("resource %q: %w", c.Resource, ErrCompare)
	}
	last := len(write.Responses) - 1
	if err := g.replaced(c, write.Responses[last].GetResponsePut().GetPrevKv()); err != nil {
		return nil, err
	}
	write.Header, write.Responses = resp.Header, write.Responses[:last]
	return write, nil
}
