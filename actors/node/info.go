package node

import (
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// info answers what a client needs to know before its first request.
func (n *Node) info(m *nats.Msg) {
	to, ok := n.replyTo(m)
	if !ok || !n.admit(to) {
		return
	}
	n.outbox.publish(to, "", &messages.Info{
		Version: n.cfg.Version,
		Shards:  n.cfg.Shards,
		Nodes:   n.nodes(),
		Limits:  n.cfg.Limits,
	}, nil)
}

// admit counts a request that is about no resource for the rate limit, and refuses it if that is
// reached.
func (n *Node) admit(to messages.ReplyTo) bool {
	err := n.gate.enter()
	if err != nil {
		n.outbox.send(to, messages.Refuse(status(err), err))
	}
	return err == nil
}

// nodes are all of the deployment, by name, with the shards that they own.
func (n *Node) nodes() []*messages.Node {
	if n.warden == nil {
		self := &messages.Node{Name: n.cfg.Name, Version: n.cfg.Version}
		for shard := range n.cfg.Shards {
			self.Shards = append(self.Shards, shard)
		}
		return []*messages.Node{self}
	}
	var all []*messages.Node
	for _, a := range *n.warden.nodes.Load() {
		node := &messages.Node{Name: a.GetNode(), Version: a.GetVersion()}
		for _, o := range a.GetOwned() {
			node.Shards = append(node.Shards, o.GetShard())
		}
		all = append(all, node)
	}
	return all
}

// semantic is the form that NATS asks of a service's version: https://semver.org.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// semanticVersion is the version as NATS takes it; one of another form becomes a note on 0.0.0.
func semanticVersion(version string) string {
	v := strings.TrimPrefix(version, "v")
	if semantic.MatchString(v) {
		return v
	}
	return "0.0.0-" + strings.Trim(notSemantic.ReplaceAllString(version, "-"), "-.")
}

var notSemantic = regexp.MustCompile(`[^0-9A-Za-z-]+`)
