package jsapi

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// MetaPrefix is the key of a stream's metadata that names the deployment's prefix.
const MetaPrefix = "holdfast.prefix"

// MinWindow is the shortest window for duplicates that JetStream allows. No promise rests on message
// ids, and a longer window would need a larger table of ids on every replica.
const MinWindow = 100 * time.Millisecond

// Settings are those of a stream, with the values that it must have.
type Settings []Setting

// Setting is the value of a setting and the value that it must have.
type Setting struct {
	Name      string
	Got, Want any
}

// CommonSettings returns the settings that all streams of a deployment check.
func CommonSettings(got, want jetstream.StreamConfig) Settings {
	var s Settings
	s.Require("storage", got.Storage, want.Storage)
	s.Require("retention", got.Retention, want.Retention)
	s.Require("discard policy", got.Discard, want.Discard)
	s.Require("sealed", got.Sealed, false)
	s.Require("no ack", got.NoAck, false)
	s.Require("mirror", got.Mirror != nil, false)
	s.Require("sources", len(got.Sources), 0)
	s.Require("persist mode", got.PersistMode, want.PersistMode)
	return s
}

// Require adds a setting. Its values must be comparable.
func (s *Settings) Require(name string, got, want any) {
	*s = append(*s, Setting{Name: name, Got: got, Want: want})
}

// Changed returns the first setting that does not have its required value, nil for none.
func (s Settings) Changed() *Setting {
	for _, one := range s {
		if one.Got != one.Want {
			return &one
		}
	}
	return nil
}
