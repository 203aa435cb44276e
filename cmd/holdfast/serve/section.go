package serve

import (
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
)

// section is a part of the settings of a node: the flags under one heading of help.
type section interface {
	add(f *pflag.FlagSet)
	// check refuses what contradicts another setting or cannot work, before anything starts.
	check(given *settings.Settings) error
	// apply enters the settings into the configuration of the server.
	apply(cfg *server.Config) error
}

// The topics with the flags that a first node does not need.
var (
	tlsTopic    = &cli.Topic{Name: "serve-tls"}
	limitsTopic = &cli.Topic{Name: "serve-limits"}
)

// headed is a section with its heading in help.
type headed struct {
	title string
	topic *cli.Topic // shows the flags instead of the help of the command; nil: none
	section
}

// sections returns all sections in the order of help.
func (s *serve) sections() []headed {
	return []headed{
		{"Embedded NATS", nil, &s.embedded},
		{"External NATS", nil, &s.external},
		{"TLS and login", tlsTopic, &s.tls},
		{"TLS and login", tlsTopic, &s.login},
		{"Deployment", nil, &s.deployment},
		{"Deployment", nil, &s.tenants},
		{"Limits and memory", limitsTopic, &s.limits},
		{"Limits and memory", limitsTopic, &s.memory},
		{"Monitoring", nil, &s.monitoring},
		{cli.SectionOutput, nil, &s.logging},
	}
}
