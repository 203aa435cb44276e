package serve

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
)

// logging is the form of the log.
type logging struct{ level, format cli.Choice }

func (l *logging) add(f *pflag.FlagSet) {
	l.level = cli.NewChoice("info", "debug", "info", "warn", "error")
	l.format = cli.NewChoice("text", "text", "json")
	f.Var(&l.level, "log-level", "minimum `LEVEL` of the log: "+l.level.List())
	f.Var(&l.format, "log-format", "log `FORMAT`: "+l.format.List())
}

func (l *logging) check(*settings.Settings) error { return nil } // each flag has its words

func (l *logging) apply(*server.Config) error { return nil } // the log is there before the configuration

// open returns the log of a node: one line per event, as text or as JSON.
func (l *logging) open(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level.Word)); err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: withUnits}
	if l.isJSON() {
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return slog.New(slog.NewTextHandler(w, options)), nil
}

func (l *logging) isJSON() bool { return l.format.Word == "json" }

// withUnits writes a duration as "1.5s" in every format; JSON would have nanoseconds without a unit.
func withUnits(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
