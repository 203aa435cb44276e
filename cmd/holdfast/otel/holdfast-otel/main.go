// Command holdfast-otel is holdfast whose nodes export their traces by OTLP. The environment of OpenTelemetry
// configures that, as OTEL_EXPORTER_OTLP_ENDPOINT; everything else is that of holdfast.
package main

import (
	"os"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/commands"
	"github.com/holdfast-io/holdfast/cmd/holdfast/otel/export"
)

func main() {
	p := &commands.Program{Stdout: os.Stdout, Stderr: os.Stderr, Name: "holdfast-otel", Trace: export.Start}
	p.Main(os.Args[1:], os.Exit)
}
