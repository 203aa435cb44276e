package commands

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/spf13/cobra"
)

// version is set by -ldflags '-X XXv1.2.3'.
var version string

// programVersion returns the version set by the linker, else that of the module.
func programVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Show the versions of holdfast, of Go and of the embedded NATS server",
		Args:              cli.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "holdfast %s\ngo %s %s/%s\nnats-server %s\n", programVersion(),
				strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS, runtime.GOARCH, natsserver.VERSION)
			return err
		},
	}
}
