package node

import (
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node/assignment"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// discovery answers what a client needs to know before its first request.
type discovery struct {
	cfg        Config
	present    *present
	admission  *admission
	outbox     *outbox
	verifier   *identity.Verifier // nil if senders are not verified
	tenants    *tenants
	controller *assignment.Controller // nil if the node is alone
}

func (d *discovery) info(t *tenant, m *nats.Msg) {
	to := routing.ReplyTo(m)
	if !d.admission.admit(t, m, to) {
		return
	}
	var who string
	if d.verifier != nil {
		who, _ = d.verifier.Of(m) // a request about no owner needs none
	}
	g := d.present.Load()
	d.outbox.publish(to, "", &messages.Info{
		Version:  d.cfg.Version,
		Shards:   g.Count,
		Nodes:    d.nodes(g),
		Limits:   d.tenants.limitsOf(t),
		Features: d.features(m.Reply),
		Identity: who,

		Generation: g.Generation,
	}, nil)
}

// features returns what the deployment offers to a client with this reply subject.
func (d *discovery) features(reply string) []string {
	all := slices.Clone(messages.Features)
	if !messages.IsImported(reply) {
		all = append([]string{messages.FeatureBatch}, all...)
	}
	if d.controller == nil {
		all = append(all, offered(d.cfg)...)
	} else {
		all = append(all, featuresOf(d.controller.Nodes())...)
	}
	if d.verifier != nil {
		all = append(all, messages.FeatureIdentity)
	}
	if d.tenants.on {
		all = append(all, messages.FeatureTenants)
	}
	return all
}

// offered returns what a node offers that a deployment offers only while all of its nodes do.
func offered(cfg Config) []string {
	if offersReshard(cfg) {
		return messages.FeaturesOfAll
	}
	return slices.DeleteFunc(slices.Clone(messages.FeaturesOfAll), func(f string) bool { return f == messages.FeatureReshard })
}

// featuresOf returns what all of these nodes offer.
func featuresOf(nodes []*peer.Announcement) []string {
	all := slices.Clone(messages.FeaturesOfAll)
	for _, a := range nodes {
		all = slices.DeleteFunc(all, func(feature string) bool {
			return !slices.Contains(a.GetFeatures(), feature) // mutant: FeatureOfSomeNodes
		})
	}
	return all
}

// nodes returns all nodes of the deployment by name, with the shards that they own.
func (d *discovery) nodes(g *generation) []*messages.Node {
	if d.controller == nil {
		self := &messages.Node{Name: d.cfg.Name, Version: d.cfg.Version}
		for shard := range g.Count {
			self.Shards = append(self.Shards, shard)
		}
		return []*messages.Node{self}
	}
	var all []*messages.Node
	for _, a := range d.controller.Nodes() {
		node := &messages.Node{Name: a.GetNode(), Version: a.GetVersion()}
		if a.GetGeneration() != g.Generation {
			a = &peer.Announcement{Node: a.GetNode(), Version: a.GetVersion()}
		}
		for _, o := range a.GetOwned() {
			node.Shards = append(node.Shards, o.GetShard())
		}
		all = append(all, node)
	}
	return all
}
