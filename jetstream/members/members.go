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
	// subjectState is where servers tell of their JetStream: all, or the cluster's leader alone.
	subjectState = "$SYS.REQ.SERVER.PING.JSZ"
	// subjectRemove is where the leader takes a member out of the cluster.
	subjectRemove = "$JS.API.SERVER.REMOVE"
	// codeNotMember is the leader's refusal to remove a server that is not a member.
	codeNotMember jetstream.ErrorCode = 10044
	// inFlight is by how many records a copy is behind that only waits for what is under way.
	inFlight = 100
	// settlePoll is how long it may go unnoticed that elections are over and copies complete.
	settlePoll = 250 * time.Millisecond
)

// leaderOnly asks nobody but the leader.
var leaderOnly = []byte(`{"leader_only":true}`)

// Member is a server of a cluster, and what it keeps.
type Member struct {
	Name string
	// Leads: it leads the cluster. Away: it has left, or the leader has not heard it for five seconds.
	Leads, Away bool
	// Silent is how long ago the leader has heard it; 0 also if it never has.
	Silent time.Duration
	// Streams are those of which it keeps a copy, Behind those of them whose copy lags.
	Streams, Behind []string
	// Fault is what keeps the member from storing, in NATS's words; empty for nothing.
	Fault string

	id string
}

// Report is who belongs to a cluster and where its streams are.
type Report struct {
	// Members are in the order of their names.
	Members []*Member
	// streams has what each stream's leader says of it, nil where none is there to say anything.
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

// Report counts the members as their leader knows them.
func (v *Session) Report(ctx context.Context) (*Report, error) {
	var state leaderState
	if err := v.askLeader(ctx, subjectState, leaderOnly, &state); err != nil {
		return nil, err
	}
	if state.Data == nil || state.Data.Meta == nil {
		return nil, errors.New("the leader does not tell who the members are")
	}
	c := &Report{streams: make(map[string]*jetstream.StreamInfo)}
	meta := state.Data.Meta
	c.Members = append(c.Members, &Member{Name: meta.Leader, Leads: true, id: meta.Peer})
	reached := v.link.Neighbours()
	for _, peer := range meta.Replicas {
		// A leader that was elected when the member had gone has never heard it, and says so by saying nothing.
		unheard := peer.Active == 0 && !peer.Current && !slices.Contains(reached, peer.Name)
		c.Members = append(c.Members, &Member{
			Name: peer.Name, Away: unheard || jsapi.IsAway(peer.Offline, peer.Active), Silent: peer.Active, id: peer.Peer,
		})
	}
	slices.SortFunc(c.Members, func(a, b *Member) int { return strings.Compare(a.Name, b.Name) })
	return c, errors.Join(v.countStreams(ctx, c), v.enterFaults(ctx, c))
}

// countStreams enters who keeps what.
func (v *Session) countStreams(ctx context.Context, c *Report) error {
	names := v.js.StreamNames(ctx)
	for name := range names.Name() {
		c.streams[name] = nil
	}
	streams := v.js.ListStreams(ctx)
	for info := range streams.Info() {
		c.enter(info)
	}
	if err := errors.Join(names.Err(), streams.Err()); err != nil {
		return fmt.Errorf("list the streams: %w", err)
	}
	return nil
}

func (c *Report) enter(info *jetstream.StreamInfo) {
	if info.Cluster == nil || info.Cluster.Leader == "" {
		return
	}
	name := info.Config.Name
	c.streams[name] = info
	c.keep(info.Cluster.Leader, name, false)
	for _, r := range info.Cluster.Replicas {
		c.keep(r.Name, name, jsapi.IsAway(r.Offline, r.Active) || !r.Current && r.Lag > inFlight)
	}
}

func (c *Report) keep(member, stream string, behind bool) {
	for _, m := range c.Members {
		if m.Name != member {
			continue
		}
		m.Streams = append(m.Streams, stream)
		if behind {
			m.Behind = append(m.Behind, stream)
		}
	}
}

// names are those of the members.
func (c *Report) names() []string {
	var names []string
	for _, m := range c.Members {
		names = append(names, m.Name)
	}
	return names
}

// torn are the streams that do not have just the copies that they should have, all complete, under a leader;
// see [HasAllReplicas].
func (c *Report) torn(besides string) []string {
	var torn []string
	for name, info := range c.streams {
		if info == nil || !jsapi.HasAllReplicas(info, besides) {
			torn = append(torn, name)
		}
	}
	slices.Sort(torn)
	return torn
}

// AwaitReplicas returns when each stream has been seen with all its copies, or with an error when ctx ends. say
// is told which have not, whenever there are fewer.
func (v *Session) AwaitReplicas(ctx context.Context, say func(missing []string)) error {
	var missing []string
	for said := 0; ; said = len(missing) {
		c, err := v.Report(ctx)
		if err != nil {
			return err
		}
		// A copy that is written to is complete only now and then, seldom all at once.
		if missing = seen(missing, c.torn("")); len(missing) == 0 {
			return nil
		}
		if len(missing) != said {
			say(missing)
		}
		if err := retry.Pause(ctx, settlePoll); err != nil {
			return err
		}
	}
}

// seen takes those out of missing that are not torn; at first, when it is nil, all that are torn are missing.
func seen(missing, torn []string) []string {
	if missing == nil {
		return torn
	}
	return slices.DeleteFunc(missing, func(name string) bool { return !slices.Contains(torn, name) })
}

// find returns a member by its name, also one whose name the leader has never heard.
func (c *Report) find(name string) *Member {
	for _, m := range c.Members {
		if m.Name == name || m.id == jsapi.PeerID(name) {
			return m
		}
	}
	return nil
}

// Remove takes a member that is away out of the cluster: from then on it counts for no majority, and others
// get copies of what it kept, after a while; see [Session.AwaitReplicas]. Before, it waits until the others have
// settled. It is an [ErrNoMember] if there is none of that name, and an [ErrMemberNeeded] if the member is
// there, or the others could not do without it.
func (v *Session) Remove(ctx context.Context, name string) error {
	m, err := v.dispensable(ctx, name)
	if err != nil {
		return err
	}
	request, err := json.Marshal(struct {
		Server string `json:"peer"`
		ID     string `json:"peer_id,omitempty"`
	}{name, m.id})
	if err != nil {
		return err
	}
	var said struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := v.askLeader(ctx, subjectRemove, request, &said); err != nil {
		return err
	}
	// It is none any more if the request has come twice.
	if said.Error != nil && said.Error.ErrorCode != codeNotMember {
		return fmt.Errorf("the cluster's leader refuses to remove %s: %w", name, said.Error)
	}
	return nil
}

// dispensable returns the member when the others can do without it. NATS would remove it in any case, and a
// stream whose majority is gone is gone with it.
func (v *Session) dispensable(ctx context.Context, name string) (*Member, error) {
	var missing []string
	for {
		c, err := v.Report(ctx)
		if err != nil {
			return nil, err
		}
		m := c.find(name)
		if m == nil {
			return nil, fmt.Errorf("%w: %q; there are %s", ErrNoMember, name, strings.Join(c.names(), ", "))
		}
		if err := c.needs(m, name); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMemberNeeded, err)
		}
		if missing = seen(missing, c.torn(m.id)); len(missing) == 0 {
			return m, nil
		}
		if retry.Pause(ctx, settlePoll) != nil {
			return nil, fmt.Errorf("%w: the other members do not have all their copies of %s yet", ErrMemberNeeded, strings.Join(missing, ", "))
		}
	}
}

// needs returns why the others cannot do without the member, nil if they can once they have settled.
func (c *Report) needs(m *Member, name string) error {
	if !m.Away {
		return fmt.Errorf("%s was there %v ago; stop it first", name, m.Silent.Round(time.Millisecond))
	}
	for _, other := range c.Members {
		if other != m && other.Away {
			return fmt.Errorf("%s is away as well; bring it back first", other.Name)
		}
	}
	left := len(c.Members) - 1
	for _, stream := range slices.Sorted(maps.Keys(c.streams)) {
		if info := c.streams[stream]; info != nil && info.Config.Replicas > left {
			return fmt.Errorf("%s is kept by %d members, and %d would be left; add another one first", stream, info.Config.Replicas, left)
		}
	}
	return nil
}
