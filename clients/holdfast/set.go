package holdfast

import (
	"context"
	"maps"

	"github.com/holdfast-io/holdfast/messages"
)

// Metadata returns what is shown of the lock beside its lease: as it was granted with, or as the last [Lock.Set] that
// succeeded has left it. The caller may modify the map.
func (l *Lock) Metadata() map[string]string {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	return maps.Clone(l.h.metadata)
}

// Set replaces the metadata of the lock, all of it, for all [Lock]s that share the lease; nil or empty: none. Nothing
// else of the lease changes, and neither does its time. Watchers see an [EventUpdated], unless it was the same already.
// The calls for one lease are made one after another.
//
// It returns nil when the service has it; [ErrInvalid] if the metadata break a rule, or the deployment lacks the
// feature "values"; [ErrOverloaded] if the leases of the resource would become too large; [ErrLost] when the lock is
// lost, which ends it, [ErrReleased] after a release; [ErrUnavailable] if no node could decide. When the context or the
// client's timeout ends first it may be [ErrUnknown]: the metadata may be replaced or not, or yet be, but not after
// those of a later call, if the deployment has the feature "order".
func (l *Lock) Set(ctx context.Context, metadata map[string]string) error {
	metadata = maps.Clone(metadata)
	broken := limits.Check(&messages.SetRequest{Owner: l.Owner(), Metadata: metadata})
	if err := l.check(ctx, messages.OpSet, broken); err != nil {
		return err
	}
	if err := l.h.c.deployment.need(ctx, messages.OpSet, l.Resource(), valuesFeature); err != nil {
		return err
	}
	l.h.setting.Lock()
	defer l.h.setting.Unlock()
	return l.h.set(ctx, l, metadata)
}

// set asks for other metadata and waits for the answer. If another client has spoken for the lease, it asks once more.
func (h *handle) set(ctx context.Context, l *Lock, metadata map[string]string) error {
	for {
		m, err := h.setRequest(l, metadata)
		if err != nil {
			return err
		}
		a, err := h.c.calls.ask(ctx, messages.OpSet, h.resource, m)
		if err != nil {
			return err
		}
		r, err := a.Reply()
		if err != nil {
			return &Error{Op: string(messages.OpSet), Resource: h.resource, Err: ErrUnknown, Cause: err}
		}
		if again, err := h.afterSet(m, r); !again {
			return err
		}
	}
}

// setRequest returns the request for other metadata. Its order is another one if the last request asked for others.
func (h *handle) setRequest(l *Lock, metadata map[string]string) (*messages.SetRequest, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.isOver(messages.OpSet, l); err != nil {
		return nil, err
	}
	if h.extensions.Order() > 0 && (h.setOrder == 0 || !maps.Equal(metadata, h.asked)) {
		h.setOrder, h.asked = min(h.setOrder+1, messages.MaxOrder), metadata
	}
	return &messages.SetRequest{
		Owner: h.options.owner, Token: uint64(h.id.token), Metadata: metadata, Secret: h.options.secret.value,
		Order: h.setOrder,
	}, nil
}

// afterSet takes the answer to a request in. again: a set of another client has a higher order, so this one had no
// effect.
func (h *handle) afterSet(m *messages.SetRequest, r *messages.Reply) (again bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch r.GetStatus() {
	case messages.Status_UPDATED:
		if again = m.GetOrder() > 0 && r.GetOrder() > m.GetOrder(); again {
			h.setOrder = min(r.GetOrder()+1, messages.MaxOrder)
		} else {
			h.metadata = m.GetMetadata()
		}
		return again, nil
	case messages.Status_NOT_HELD, messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN, messages.Status_EXPIRED:
		e := lost(messages.OpSet, h.resource, r)
		if h.phase == holding { // mutant: LossFoundByASetIgnored
			h.lose(e)
		}
		return false, e
	default:
		return false, refused(messages.OpSet, h.resource, r)
	}
}
