package simnats

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// stream is a Raft group: each of its servers has a log, and what a majority has of the log of its leader is committed.
// Elections are made by somebody who sees all servers, after the time that those of NATS take.
type stream struct {
	network  *Network
	config   jetstream.StreamConfig
	created  time.Time
	replicas []*replica
	term     int
	// electing: an election is on its way.
	electing  bool
	consumers map[string]*consumer
}

// replica is what a server has of a stream.
type replica struct {
	stream *stream
	server *server
	term   int
	log    []entry
	// synced is how much of the log is on its disk, committed how much is known to be committed; the store has that.
	synced, committed int
	store             *store
	// leads: it takes itself for the leader. has is how much of the log each other replica has, as it knows.
	leads bool
	has   map[*replica]int
}

// entry is a step of a stream.
type entry struct {
	term int
	proposal
	by *replica
}

// proposal is a step that a leader is to make.
type proposal struct {
	do func(s *store) any
	// done is called on the server that has proposed it, with what do returned; nil: nobody is.
	done func(any)
	// appends: it stores a message.
	appends bool
}

const (
	// minElection and maxElection are how long a group is without a leader.
	minElection, maxElection = 4 * time.Second, 9 * time.Second
	// lostQuorum is how long a leader without a majority takes itself for one.
	lostQuorum = 10 * time.Second
)

// meta is the group of all servers, which makes streams and consumers.
type meta struct {
	leader   *server
	electing bool
}

func (n *Network) electionTime() time.Duration {
	return minElection + time.Duration(n.Bus.Draw("election", int(maxElection-minElection)))
}

// quorum reports whether a server reaches a majority of some, itself included.
func (n *Network) quorum(s *server, all []*server) bool {
	if s == nil || s.down {
		return false
	}
	reached := 0
	for _, o := range all {
		if o == s || n.connected(s, o) {
			reached++
		}
	}
	return reached > len(all)/2
}

// elect begins the elections that are needed, after a change of the links.
func (n *Network) elect() {
	n.electMeta()
	for _, name := range slices.Sorted(maps.Keys(n.streams)) {
		n.streams[name].elect()
	}
}

func (n *Network) electMeta() {
	if n.meta.leader == nil {
		n.meta.leader = n.servers[0]
	}
	if n.meta.electing || n.quorum(n.meta.leader, n.servers) {
		return
	}
	n.meta.electing = true
	n.Bus.After(n.electionTime(), func() {
		n.meta.electing = false
		var candidates []*server
		for _, s := range n.servers {
			if n.quorum(s, n.servers) {
				candidates = append(candidates, s)
			}
		}
		if len(candidates) > 0 {
			n.meta.leader = candidates[n.Bus.Draw("leader", len(candidates))]
		} // else the next change of the links begins another election
	})
}

func (s *stream) servers() (all []*server) {
	for _, r := range s.replicas {
		all = append(all, r.server)
	}
	return all
}

// leader returns the replica that leads in the highest term, nil if none does.
func (s *stream) leader() (leader *replica) {
	for _, r := range s.replicas {
		if r.leads && !r.server.down && (leader == nil || r.term > leader.term) {
			leader = r
		}
	}
	return leader
}

// elect begins an election if there is no leader that a majority follows.
func (s *stream) elect() {
	n := s.network
	for _, r := range s.replicas {
		if r.server.down {
			r.leads = false
		}
		if r.leads && !n.quorum(r.server, s.servers()) {
			term := r.term
			n.Bus.After(lostQuorum, func() {
				if r.leads && r.term == term && !n.quorum(r.server, s.servers()) {
					r.leads = false
					s.elect()
				}
			})
		}
	}
	leader := s.leader()
	if leader != nil && n.quorum(leader.server, s.servers()) {
		for _, follower := range s.replicas {
			if follower != leader {
				leader.replicate(follower) // it may have missed something
			}
		}
		return
	}
	if len(s.replicas) == 1 {
		if !s.replicas[0].server.down {
			s.lead(s.replicas[0])
		}
		return
	}
	if s.electing {
		return
	}
	s.electing = true
	n.Bus.After(n.electionTime(), func() {
		s.electing = false
		if leader := s.leader(); leader != nil && n.quorum(leader.server, s.servers()) {
			return
		}
		if best := s.candidate(""); best != nil {
			s.lead(best)
		}
	}) // without a candidate the next change of the links begins another one
}

// StepDown lets the leader of a stream step down, as an operator may ask it to.
func (n *Network) StepDown(name string) {
	if s := n.streams[name]; s != nil && s.leader() != nil {
		s.leader().stepDown(&message{})
	}
}

// candidate returns one of the replicas with the newest log among those that reach a majority; nil: none does.
func (s *stream) candidate(preferred string) (best *replica) {
	var equals []*replica
	for _, r := range s.replicas {
		if !s.network.quorum(r.server, s.servers()) {
			continue
		}
		switch {
		case len(equals) == 0 || r.isNewer(equals[0]):
			equals = []*replica{r}
		case !equals[0].isNewer(r):
			equals = append(equals, r)
		}
	}
	for _, r := range equals {
		if r.server.name == preferred {
			return r
		}
	}
	if len(equals) == 0 {
		return nil
	}
	return equals[s.network.Bus.Draw("leader of "+s.config.Name, len(equals))]
}

func (r *replica) lastTerm() int {
	if len(r.log) == 0 {
		return 0
	}
	return r.log[len(r.log)-1].term
}

// isNewer reports whether the log of a replica is newer than another one's.
func (r *replica) isNewer(o *replica) bool {
	return r.lastTerm() > o.lastTerm() || r.lastTerm() == o.lastTerm() && len(r.log) > len(o.log)
}

// lead makes a replica the leader. It commits what it has with an entry of its own term.
func (s *stream) lead(r *replica) {
	s.term++
	r.term, r.leads, r.has = s.term, true, make(map[*replica]int)
	r.propose(proposal{do: func(*store) any { return nil }})
}

// propose lets a leader add an entry.
func (r *replica) propose(p proposal) {
	r.log = append(r.log, entry{r.term, p, r})
	for _, follower := range r.stream.replicas {
		if follower != r {
			r.replicate(follower)
		}
	}
	n, term, length := r.stream.network, r.term, len(r.log)
	n.Bus.After(n.sync(r.server.name+r.stream.config.Name), func() { // its own disk
		if r.leads && r.term == term {
			r.synced = max(r.synced, length)
			r.acknowledged(r, length)
		}
	})
}

// sync draws how long a disk takes.
func (n *Network) sync(what string) time.Duration {
	return time.Duration(100+n.Bus.Draw("sync "+what, 900)) * time.Microsecond
}

// replicate sends the log to a follower, which confirms what it has then.
func (r *replica) replicate(follower *replica) {
	n, term, log, committed := r.stream.network, r.term, r.log, r.committed
	n.between(r.server, follower.server, r.stream.config.Name, func() {
		if term < follower.term {
			n.between(follower.server, r.server, r.stream.config.Name, func() { r.deposed(term) })
			return
		}
		if term == follower.term && len(log) < len(follower.log) && committed <= follower.committed {
			return
		}
		if term > follower.term {
			follower.term, follower.leads = term, false
		}
		if len(log) > len(follower.log) || follower.lastTerm() != log[len(log)-1].term {
			follower.synced = min(follower.synced, common(log, follower.log))
			follower.log = slices.Clip(log) // what either one appends is its own
		}
		follower.commit(min(committed, len(follower.log)))
		length := len(follower.log)
		if follower.synced == length && committed == length {
			return
		}
		n.Bus.After(n.sync(follower.server.name+r.stream.config.Name), func() {
			if follower.term != term || follower.server.down {
				return
			}
			follower.synced = max(follower.synced, length)
			n.between(follower.server, r.server, r.stream.config.Name, func() {
				if r.leads && r.term == term {
					r.acknowledged(follower, length)
				}
			})
		})
	})
}

// deposed ends a leadership of this term, which another one has followed.
func (r *replica) deposed(term int) {
	if r.leads && r.term == term {
		r.leads = false
		r.stream.elect()
	}
}

// common returns how much of two logs is the same: logs with an entry of one term at one place are the same up to it.
func common(a, b []entry) int {
	same := min(len(a), len(b))
	for same > 0 && a[same-1].term != b[same-1].term {
		same--
	}
	return same
}

// acknowledged notes how much of the log a replica has, and commits what a majority has.
func (r *replica) acknowledged(by *replica, length int) {
	r.has[by] = max(r.has[by], length)
	var lengths []int
	for _, o := range r.stream.replicas {
		lengths = append(lengths, r.has[o])
	}
	slices.Sort(lengths)
	before := r.committed
	if most := lengths[(len(lengths)-1)/2]; most > r.committed && r.log[most-1].term == r.term {
		r.commit(most)
	}
	if r.committed == before {
		return
	}
	for _, follower := range r.stream.replicas {
		if follower != r {
			r.replicate(follower)
		}
	}
}

// commit applies the log up to a length.
func (r *replica) commit(length int) {
	for r.committed < length {
		e := r.log[r.committed]
		r.committed++
		result := e.do(r.store)
		if e.done != nil && e.by == r && r.leads && r.term == e.term {
			e.done(result)
		}
	}
	consumers := slices.SortedFunc(maps.Values(r.stream.consumers), func(a, b *consumer) int {
		return cmp.Compare(a.number, b.number)
	})
	for _, c := range consumers {
		if c.replica == r {
			c.pump()
		}
	}
}

// ahead returns the last sequence as it is when all appends of the log are committed.
func (r *replica) ahead() uint64 {
	last := r.store.last
	for _, e := range r.log[r.committed:] {
		if e.appends {
			last++
		}
	}
	return last
}

// isWholeWithout reports whether a majority of all replicas, without this one, has on its disks all that is committed.
func (s *stream) isWholeWithout(r *replica) bool {
	most, n := r, 0
	for _, o := range s.replicas {
		if o.committed > most.committed {
			most = o
		}
	}
	for _, o := range s.replicas {
		// the log of a leader that is cut off may be as long, and another one
		if o != r && !o.server.down && min(o.synced, common(o.log, most.log)) >= most.committed {
			n++
		}
	}
	return n > len(s.replicas)/2
}

// crash leaves of a replica what is on its disk.
func (r *replica) crash() {
	r.log, r.committed, r.store, r.leads = slices.Clip(r.log[:r.synced]), 0, newStore(r.stream.config), false
	for _, c := range r.stream.consumers {
		if c.replica == r {
			c.remove()
		}
	}
}
