package members

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

const (
	// subjectState is answered by servers with the state of their JetStream: by all, or by the leader alone.
	subjectState = "$SYS.REQ.SERVER.PING.JSZ"
	// subjectRemove is answered by the leader, which removes a member from the cluster.
	subjectRemove = "$JS.API.SERVER.REMOVE"
	// codeNotMember is the leader's refusal to remove a server that is not a member.
	codeNotMember jetstream.ErrorCode = 10044
	// settlePoll is the interval between two looks for leaders and complete replicas.
	settlePoll = 250 * time.Millisecond
)

// leaderOnly is a request that only the leader answers.
var leaderOnly = []byte(`{"leader_only":true}`)

// Member is a server of a cluster.
type Member struct {
	Name string
	// Leads says that it leads the cluster. Away says that it has left, or that the leader has received nothing
	// from it for five seconds.
	Leads, Away bool
	// Silent is the time since the leader last received something from it; 0 also if it never has.
	Silent time.Duration
	// Streams are those of which it keeps a replica, Behind those of them whose replica lags.
	Streams, Behind []string
	// Fault is why the member cannot store, as NATS reports it; empty if it can.
	Fault string

	id string
}

// Report is a membership report: the members of a cluster and the replicas that they keep.
type Report struct {
	// Members are in the order of their names.
	Members []*Member
	// streams has the state of each stream as its leader reports it, nil for a stream without a leader.
	streams map[string]*jetstream.StreamInfo
}

// Errors of [Session.Report] and [Session.Remove]. The error that wraps one says what to do.
var (
	// ErrNoLeader says that the cluster has no leader.
	ErrNoLeader = errors.New("the cluster has no leader")
	// ErrNoMember says that the cluster has no member of that name.
	ErrNoMember = errors.New("no such member")
	// ErrMemberNeeded says that the member is present, or that the cluster would lose data without it.
	ErrMemberNeeded = errors.New("the member cannot be removed now")
)

// leaderState is what the leader answers about the cluster's Raft group of JetStream.
type leaderState struct {
	Data *struct {
		Meta *struct {
			Leader   string                `json:"leader"`
			Peer     string                `json:"peer"`
			Replicas []*jetstream.PeerInfo `json:"replicas"`
		} `json:"meta_cluster"`
	} `json:"data"`
}

// Report returns the members as the leader knows them.
func (s *Session) Report(ctx context.Context) (*Report, error) {
	var state leaderState
	if err := s.askLeader(ctx, subjectState, leaderOnly, &state); err != nil {
		return nil, err
	}
	if state.Data == nil || state.Data.Meta == nil {
		return nil, errors.New("the leader does not report the members")
	}
	r := &Report{streams: make(map[string]*jetstream.StreamInfo)}
	meta := state.Data.Meta
	r.Members = append(r.Members, &Member{Name: meta.Leader, Leads: true, id: meta.Peer})
	reached := s.link.Neighbours()
	for _, peer := range meta.Replicas {
		// A leader that was elected after the member was lost reports no time for it.
		unheard := peer.Active == 0 && !peer.Current && !slices.Contains(reached, peer.Name)
		r.Members = append(r.Members, &Member{
			Name: peer.Name, Away: unheard || jsapi.IsAway(peer.Offline, peer.Active), Silent: peer.Active,
			id: peer.Peer,
		})
	}
	slices.SortFunc(r.Members, func(a, b *Member) int { return strings.Compare(a.Name, b.Name) })
	return r, errors.Join(s.addStreams(ctx, r), s.addFaults(ctx, r))
}

// addStreams adds the replicas of each stream.
func (s *Session) addStreams(ctx context.Context, r *Report) error {
	names := s.js.StreamNames(ctx)
	for name := range names.Name() {
		r.streams[name] = nil
	}
	streams := s.js.ListStreams(ctx)
	for info := range streams.Info() {
		r.addStream(info)
	}
	if err := errors.Join(names.Err(), streams.Err()); err != nil {
		return fmt.Errorf("list the streams: %w", err)
	}
	return nil
}

func (r *Report) addStream(info *jetstream.StreamInfo) {
	if info.Cluster == nil || info.Cluster.Leader == "" {
		return
	}
	name := info.Config.Name
	r.streams[name] = info
	r.addReplica(info.Cluster.Leader, name, false)
	for _, replica := range info.Cluster.Replicas {
		r.addReplica(replica.Name, name, jsapi.IsAway(replica.Offline, replica.Active) || jsapi.IsBehind(replica))
	}
}

func (r *Report) addReplica(member, stream string, behind bool) {
	m := r.find(member)
	if m == nil {
		return
	}
	m.Streams = append(m.Streams, stream)
	if behind {
		m.Behind = append(m.Behind, stream)
	}
}

// names are those of the members.
func (r *Report) names() []string {
	var names []string
	for _, m := range r.Members {
		names = append(names, m.Name)
	}
	return names
}

// Has reports whether the account has a stream of this name.
func (r *Report) Has(stream string) bool {
	_, has := r.streams[stream]
	return has
}

// incomplete returns the streams without a leader or with missing, additional or outdated replicas, except a
// replica on the peer except; see [jsapi.HasAllReplicas].
func (r *Report) incomplete(except string) []string {
	var incomplete []string
	for name, info := range r.streams {
		if info == nil || !jsapi.HasAllReplicas(info, except) {
			incomplete = append(incomplete, name)
		}
	}
	slices.Sort(incomplete)
	return incomplete
}

// AwaitReplicas returns when each stream has been seen with all its replicas, or with an error when ctx ends. It
// calls progress with the streams that are left whenever their number changes.
func (s *Session) AwaitReplicas(ctx context.Context, progress func(missing []string)) error {
	var missing []string
	for reported := 0; ; reported = len(missing) {
		r, err := s.Report(ctx)
		if err != nil {
			return err
		}
		// A replica under load is current only at moments, and seldom all of them at the same time.
		if missing = stillIncomplete(missing, r.incomplete("")); len(missing) == 0 {
			return nil
		}
		if len(missing) != reported {
			progress(missing)
		}
		if err := retry.Pause(ctx, settlePoll); err != nil {
			return err
		}
	}
}

// stillIncomplete returns those streams of before that are incomplete; if before is nil, all that are incomplete.
func stillIncomplete(before, incomplete []string) []string {
	if before == nil {
		return incomplete
	}
	return slices.DeleteFunc(before, func(name string) bool { return !slices.Contains(incomplete, name) })
}

// find returns a member by its name, also one whose name the leader does not know.
func (r *Report) find(name string) *Member {
	for _, m := range r.Members {
		if m.Name == name || m.id == jsapi.PeerID(name) {
			return m
		}
	}
	return nil
}

// Remove removes a member that is away from the cluster. It counts for no majority any more, and others get
// replicas of its streams later; see [Session.AwaitReplicas]. Before that, Remove waits until the replicas of the
// others are complete. It returns an [ErrNoMember] if there is no member of that name, and an [ErrMemberNeeded] if
// the member is present, or if the others cannot do without it.
func (s *Session) Remove(ctx context.Context, name string) error {
	m, err := s.awaitRemovable(ctx, name)
	if err != nil {
		return err
	}
	request, _ := json.Marshal(map[string]string{"peer": name, "peer_id": m.id}) // strings: it cannot fail
	var answer struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := s.askLeader(ctx, subjectRemove, request, &answer); err != nil {
		return err
	}
	// The member is unknown if an earlier copy of the request was executed.
	if answer.Error != nil && answer.Error.ErrorCode != codeNotMember {
		return fmt.Errorf("the cluster's leader refuses to remove %s: %w", name, answer.Error)
	}
	return nil
}

// awaitRemovable returns the member when the others can do without it. NATS would remove it in any case, and a
// stream without a majority would be lost.
func (s *Session) awaitRemovable(ctx context.Context, name string) (*Member, error) {
	var missing []string
	for {
		r, err := s.Report(ctx)
		if err != nil {
			return nil, err
		}
		m := r.find(name)
		if m == nil {
			return nil, fmt.Errorf("%w: %q; the members are %s", ErrNoMember, name, strings.Join(r.names(), ", "))
		}
		if err := r.checkRemovable(m, name); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMemberNeeded, err)
		}
		if missing = stillIncomplete(missing, r.incomplete(m.id)); len(missing) == 0 {
			return m, nil
		}
		if retry.Pause(ctx, settlePoll) != nil {
			return nil, fmt.Errorf("%w: the other members do not have all their replicas of %s yet", ErrMemberNeeded,
				strings.Join(missing, ", "))
		}
	}
}

// checkRemovable returns why the others cannot do without the member, nil if they can with complete replicas.
func (r *Report) checkRemovable(m *Member, name string) error {
	if !m.Away {
		return fmt.Errorf("%s was there %v ago; stop it first", name, m.Silent.Round(time.Millisecond))
	}
	for _, other := range r.Members {
		if other != m && other.Away {
			return fmt.Errorf("%s is away as well; bring it back first", other.Name)
		}
	}
	left := len(r.Members) - 1
	for _, stream := range slices.Sorted(maps.Keys(r.streams)) {
		if info := r.streams[stream]; info != nil && info.Config.Replicas > left {
			return fmt.Errorf("%s is kept by %d members, and %d would be left; add another one first", stream,
				info.Config.Replicas, left)
		}
	}
	return nil
}
