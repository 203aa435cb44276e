package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

// userSubject is the one on which NATS reports to a user its permissions.
const userSubject = "$SYS.REQ.USER.INFO"

// permissions compares what the user of the connection may with what a client needs, and with what only nodes and
// operators need.
func (d *deployment) permissions(ctx context.Context, r *Result) {
	switch nc := d.cfg.Conn; {
	case nc.AuthRequired():
	case sendsCertificate(nc):
		r.see("NATS asks for no login, so that each client whose certificate it takes may do everything")
		return
	default:
		r.see("NATS asks for no login, so that every client may do everything")
		return
	}
	m, err := d.caller.Send(ctx, answerTimeout, nats.NewMsg(userSubject))
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
	u := newUser(d.cfg.Prefix, answer.Data)
	u.generation = d.info.GetGeneration()
	r.see("%s", u.name)
	u.missing(r)
	u.tooWide(r)
}

// user is the user of the connection, with its permissions.
type user struct {
	name   string
	prefix messages.Prefix
	// generation is that of the shards in use.
	generation         uint32
	publish, subscribe grant
}

func newUser(prefix messages.Prefix, info *server.UserInfo) *user {
	permissions := info.Permissions
	if permissions == nil {
		permissions = &server.Permissions{}
	}
	return &user{
		name:    fmt.Sprintf("user %s of account %s", display.Name(info.UserID), display.Name(info.Account)),
		prefix:  prefix,
		publish: grantOf(permissions.Publish), subscribe: grantOf(permissions.Subscribe),
	}
}

// tooWide looks for subjects on which only nodes publish, and for those on which only operators do.
func (u *user) tooWide(r *Result) {
	if parts := u.ofNodes(); len(parts) > 0 {
		r.warn(fmt.Sprintf("%s may publish on %s", u.name, listed(parts)),
			"only nodes need that; a client that has it can delete the locks, or move shards, or forge events",
			"list the permissions of clients by operation, as docs/access.md shows, and give these, for each "+
				"bucket, to the users of nodes only; "+
				"run this command as a user of clients")
	}
	if parts := u.ofOperators(); len(parts) > 0 {
		r.warn(fmt.Sprintf("%s may publish on %s", u.name, listed(parts)),
			"a client that has it can take locks away from their holders, or end the time for which a lost lock is "+
				"held back",
			"give these to the users of operators and fencing agents only; run this command as a user of clients")
	}
}

// ofNodes returns the subjects that only nodes need. Of a kind that concerns several buckets it returns that of the
// first one.
func (u *user) ofNodes() []string {
	parts := slices.Concat(u.publish.within(u.prefix.Event(">")), u.publish.within(u.prefix.Nodes()))
	for _, kind := range []string{
		"$KV.%s.>", "$JS.API.STREAM.DELETE.KV_%s", "$JS.API.STREAM.PURGE.KV_%s", "$JS.API.STREAM.UPDATE.KV_%s",
		"$JS.API.STREAM.RESTORE.KV_%s", "$JS.API.STREAM.MSG.DELETE.KV_%s",
	} {
		for _, bucket := range u.buckets() {
			if of := u.publish.within(fmt.Sprintf(kind, bucket)); len(of) > 0 {
				parts = append(parts, of...)
				break
			}
		}
	}
	return parts
}

// buckets returns the names of all buckets that the deployment may have in its present and in its first generation.
func (u *user) buckets() (all []string) {
	for _, generation := range slices.Compact([]uint32{0, u.generation}) {
		for shard := range uint32(jetstream.MaxShards) {
			all = append(all, u.prefix.Bucket(messages.Shard{Generation: generation, Number: shard}))
		}
	}
	return append(all, u.prefix.Register())
}

// ofOperators returns the subjects that only operators and fencing agents need.
func (u *user) ofOperators() (parts []string) {
	for _, op := range []messages.Operation{messages.OpBreak, messages.OpConfirm} {
		for part := range u.granted(op) {
			parts = append(parts, part)
		}
	}
	return parts
}

// missing looks for what the user lacks to release, to find and to get events of what it may acquire.
func (u *user) missing(r *Result) {
	for _, keys := range u.acquirable() {
		var lacks []string
		for _, op := range []messages.Operation{messages.OpAcquire, messages.OpRelease, messages.OpExtend,
			messages.OpGet} {
			for _, subject := range u.subjects(op, keys) {
				lacks = append(lacks, u.lacking(u.publish.outside(subject))...)
			}
		}
		if len(lacks) > 0 {
			r.warn(fmt.Sprintf("%s may acquire %s, but not publish on %s", u.name, keys, listed(lacks)),
				"it can acquire locks that it cannot extend, release or look at, or only by some of the ways",
				"add these to the publish permissions of the user")
		}
		if unheard := u.lacking(u.subscribe.outside(u.prefix.Event(keys))); len(unheard) > 0 {
			r.warn(fmt.Sprintf("%s may acquire %s, but not subscribe to %s", u.name, keys, listed(unheard)),
				"a holder learns that its lease was lost only when it extends it",
				"add these to the subscribe permissions of the user")
		}
	}
}

// acquirable returns patterns of the keys that the user may acquire by one of the ways, at most [maxNamed].
func (u *user) acquirable() (all []string) {
	for _, keys := range u.granted(messages.OpAcquire) {
		if !slices.Contains(all, keys) {
			all = append(all, keys)
		}
	}
	return all[:min(len(all), maxNamed)]
}

// granted returns the subjects of an operation on which the user may publish, with the keys of each.
func (u *user) granted(op messages.Operation) iter.Seq2[string, string] {
	return func(yield func(subject, keys string) bool) {
		for _, subject := range u.subjects(op, ">") {
			for _, part := range u.publish.within(subject) {
				if keys, ok := u.keysOf(part); ok && !yield(part, keys) {
					return
				}
			}
		}
	}
}

// lacking leaves out the subjects with keys that the user may not acquire either.
func (u *user) lacking(parts []string) []string {
	return slices.DeleteFunc(parts, func(part string) bool {
		keys, ok := u.keysOf(part)
		return !ok || !slices.ContainsFunc(u.subjects(messages.OpAcquire, keys),
			func(s string) bool { return len(u.publish.within(s)) > 0 })
	})
}

// subjects returns the front subject and the direct subjects of an operation.
func (u *user) subjects(op messages.Operation, keys string) []string {
	return []string{u.prefix.Operation(op, keys), u.prefix.DirectOfAll(op, keys)}
}

// keysOf returns the keys of a pattern of subjects; ok is false if its shard is none.
func (u *user) keysOf(subject string) (keys string, ok bool) {
	operation := strings.TrimPrefix(subject, string(u.prefix)+".")
	if direct, is := strings.CutPrefix(operation, "shard."); is {
		var shard string
		shard, operation, _ = strings.Cut(direct, ".")
		if _, err := strconv.ParseUint(shard, 10, 32); err != nil && shard != "*" {
			return "", false
		}
	}
	_, keys, ok = strings.Cut(operation, ".")
	return keys, ok
}

// listed returns subjects for people, at most [maxNamed] of them.
func listed(subjects []string) string {
	slices.Sort(subjects)
	subjects = slices.Compact(subjects)
	if more := len(subjects) - maxNamed; more > 0 {
		subjects = append(subjects[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(subjects, ", ")
}
