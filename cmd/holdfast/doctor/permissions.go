package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

// userSubject is the one on which NATS tells a user its permissions.
const userSubject = "$SYS.REQ.USER.INFO"

// permissions compares what the user of the connection may with what a client needs, and with what only nodes and operators need.
func (p *patient) permissions(ctx context.Context, r *Result) {
	switch nc := p.cfg.Conn; {
	case nc.AuthRequired():
	case sendsCertificate(nc):
		r.see("NATS asks for no login, so that each client whose certificate it takes may do everything")
		return
	default:
		r.see("NATS asks for no login, so that every client may do everything")
		return
	}
	m, err := p.asker.send(ctx, answerTimeout, nats.NewMsg(userSubject))
	if err != nil {
		r.hidden("permission to publish on %s", userSubject)
		return
	}
	var answer struct {
		Data *server.UserInfo `json:"data"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil || answer.Data == nil {
		r.hidden("an answer of NATS on %s", userSubject)
		return
	}
	user := fmt.Sprintf("user %s of account %s", display.Name(answer.Data.UserID), display.Name(answer.Data.Account))
	r.see("%s", user)
	permissions := answer.Data.Permissions
	if permissions == nil {
		permissions = &server.Permissions{}
	}
	publish, subscribe := grantOf(permissions.Publish), grantOf(permissions.Subscribe)
	p.missing(r, user, publish, subscribe)
	p.tooWide(r, user, publish)
}

// tooWide looks for subjects on which only nodes publish, and for those on which only operators do.
func (p *patient) tooWide(r *Result, user string, publish grant) {
	if parts := p.ofNodes(publish); len(parts) > 0 {
		r.warn(fmt.Sprintf("%s may publish on %s", user, listed(parts)),
			"only nodes need that; a client that has it can delete the locks, or move shards, or forge events",
			"list the permissions of clients by operation, as docs/operating.md shows, and give these, for each bucket, to the users of nodes only; "+
				"run this command as a user of clients")
	}
	if parts := p.ofOperators(publish); len(parts) > 0 {
		r.warn(fmt.Sprintf("%s may publish on %s", user, listed(parts)),
			"a client that has it can take locks away from their holders, or end the time for which a lost lock is held back",
			"give these to the users of operators and fencing agents only; run this command as a user of clients")
	}
}

// ofNodes returns what of a grant only nodes need. Of a kind that concerns several buckets it returns that of the first one.
func (p *patient) ofNodes(publish grant) []string {
	parts := slices.Concat(publish.within(p.cfg.Prefix.Event(">")), publish.within(p.cfg.Prefix.Nodes()))
	for _, kind := range []string{
		"$KV.%s.>", "$JS.API.STREAM.DELETE.KV_%s", "$JS.API.STREAM.PURGE.KV_%s", "$JS.API.STREAM.UPDATE.KV_%s",
		"$JS.API.STREAM.RESTORE.KV_%s", "$JS.API.STREAM.MSG.DELETE.KV_%s",
	} {
		for shard := range uint32(jetstream.MaxShards) {
			if of := publish.within(fmt.Sprintf(kind, p.cfg.Prefix.Bucket(shard))); len(of) > 0 {
				parts = append(parts, of...)
				break
			}
		}
	}
	return parts
}

// ofOperators returns what of a grant only operators and fencing agents need.
func (p *patient) ofOperators(publish grant) (parts []string) {
	for _, op := range []messages.Operation{messages.OpBreak, messages.OpConfirm} {
		for _, subject := range p.subjects(op, ">") {
			for _, part := range publish.within(subject) {
				if _, ok := p.keysOf(part); ok {
					parts = append(parts, part)
				}
			}
		}
	}
	return parts
}

// missing looks for what the user lacks to give back, to find again and to hear of what it may acquire.
func (p *patient) missing(r *Result, user string, publish, subscribe grant) {
	for _, keys := range p.acquirable(publish) {
		var lacks []string
		for _, op := range []messages.Operation{messages.OpAcquire, messages.OpRelease, messages.OpExtend, messages.OpGet} {
			for _, subject := range p.subjects(op, keys) {
				lacks = append(lacks, p.lacking(publish, publish.outside(subject))...)
			}
		}
		if len(lacks) > 0 {
			r.warn(fmt.Sprintf("%s may acquire %s, but not publish on %s", user, keys, listed(lacks)),
				"it can acquire locks that it cannot extend, release or look at, or only by some of the ways",
				"add these to the publish permissions of the user")
		}
		if deaf := p.lacking(publish, subscribe.outside(p.cfg.Prefix.Event(keys))); len(deaf) > 0 {
			r.warn(fmt.Sprintf("%s may acquire %s, but not subscribe to %s", user, keys, listed(deaf)),
				"a holder learns that its lease was lost only when it extends it",
				"add these to the subscribe permissions of the user")
		}
	}
}

// acquirable returns patterns of the keys that the user may acquire by one of the ways, at most [mostNamed].
func (p *patient) acquirable(publish grant) (all []string) {
	for _, subject := range p.subjects(messages.OpAcquire, ">") {
		for _, part := range publish.within(subject) {
			if keys, ok := p.keysOf(part); ok && !slices.Contains(all, keys) {
				all = append(all, keys)
			}
		}
	}
	return all[:min(len(all), mostNamed)]
}

// lacking leaves out the subjects with keys that the user may not acquire either.
func (p *patient) lacking(publish grant, parts []string) []string {
	return slices.DeleteFunc(parts, func(part string) bool {
		keys, ok := p.keysOf(part)
		return !ok || !slices.ContainsFunc(p.subjects(messages.OpAcquire, keys), func(s string) bool { return len(publish.within(s)) > 0 })
	})
}

// subjects returns the front subject and the direct subjects of an operation.
func (p *patient) subjects(op messages.Operation, keys string) []string {
	return []string{p.cfg.Prefix.Operation(op, keys), p.direct() + "*." + string(op) + "." + keys}
}

// direct is what direct subjects begin with.
func (p *patient) direct() string { return string(p.cfg.Prefix) + ".shard." }

// keysOf returns the keys of a pattern of subjects; ok is false if its shard is none.
func (p *patient) keysOf(subject string) (keys string, ok bool) {
	operation, ok := strings.CutPrefix(subject, p.direct())
	if !ok {
		operation = strings.TrimPrefix(subject, string(p.cfg.Prefix)+".")
	} else {
		var shard string
		shard, operation, _ = strings.Cut(operation, ".")
		if _, err := strconv.ParseUint(shard, 10, 32); err != nil && shard != "*" {
			return "", false
		}
	}
	_, keys, ok = strings.Cut(operation, ".")
	return keys, ok
}

// listed returns subjects for people, at most [mostNamed] of them.
func listed(subjects []string) string {
	slices.Sort(subjects)
	subjects = slices.Compact(subjects)
	if more := len(subjects) - mostNamed; more > 0 {
		subjects = append(subjects[:mostNamed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(subjects, ", ")
}
