package operate

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/doctor"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// doctorCommand is the command that looks for what is wrong with a deployment.
type doctorCommand struct {
	connection connect.Flags
	json       bool
	slow       cli.Duration
}

// diagnosis is all that was found.
type diagnosis struct {
	Checks   []doctor.Result `json:"checks"`
	Problems int             `json:"problems"`
	Warnings int             `json:"warnings"`
}

func newDoctor() *cobra.Command {
	d := &doctorCommand{slow: cli.NewDuration(500*time.Millisecond, time.Millisecond, time.Minute)}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong with a deployment, and what to do",
		Long: `Looks at a deployment from this machine and as this user. Each finding says what is
wrong, why it matters and what to do. The checks, and what each finds:

` + doctor.Help() + `
It takes no lock and changes nothing. It causes three commits without changes in each
shard. Of the locks it looks at the first 100 000 that are held, and at as many that are
held back, of all tenants, and names at most ten of a kind. It does not look at the
permissions for the subjects of tenants.

What this user may not see, or a check had no time for, is "not visible", with the
permission or condition that would show it, and no finding. A request has three seconds,
that for a page of a listing six, and a check --timeout. What does not answer is a
finding, also in an outage of a few seconds: look again. The exit code is 0 without a
finding and 3 with one, also if nothing can be reached.`,
		Example: `  holdfast doctor
  holdfast doctor --json | jq '.checks[].findings[]?'`,
		Args:              cli.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              d.run,
	}
	cli.AddFlags(cmd, "Checks", func(f *pflag.FlagSet) {
		f.Var(&d.slow, "slow", "time from which an answer or a commit is slow")
	})
	cli.AddJSON(cmd, &d.json, "print everything as one JSON object")
	d.connection.AddTo(cmd)
	return cmd
}

func (d *doctorCommand) run(cmd *cobra.Command, _ []string) error {
	err := d.connection.Load(cmd.Flags())
	if err != nil {
		return err
	}
	out, all := cmd.OutOrStdout(), &diagnosis{}
	report := func(r doctor.Result) {
		all.take(r)
		if !d.json && err == nil {
			_, err = io.WriteString(out, resultText(&r, display.Columns(out)))
		}
	}
	if failed := d.examine(cmd, report); failed != nil {
		return failed
	}
	if err == nil {
		err = all.finish(out, d.json)
	}
	return err
}

// examine makes the checks. That NATS cannot be reached is a finding, and an error only if the command itself is wrong.
func (d *doctorCommand) examine(cmd *cobra.Command, report func(doctor.Result)) error {
	nc, err := d.connection.Open(cmd.Context(), "doctor", cmd.ErrOrStderr())
	switch {
	case err != nil && (exit.CodeOf(err) != exit.Unavailable || cmd.Context().Err() != nil):
		return err
	case err != nil:
		report(doctor.Unreachable(err))
		return nil
	}
	defer nc.Close()
	doctor.Run(cmd.Context(), doctor.Config{
		Conn: nc, Prefix: messages.Prefix(d.connection.Prefix), Timeout: d.connection.Timeout.Duration,
		Slow: d.slow.Duration,
	}, report)
	if cmd.Context().Err() != nil {
		return exit.Errorf(exit.Unexpected, "interrupted")
	}
	return nil
}

func (d *diagnosis) take(r doctor.Result) {
	d.Checks = append(d.Checks, r)
	for _, f := range r.Findings {
		if f.State == doctor.Problem {
			d.Problems++
		} else {
			d.Warnings++
		}
	}
}

// finish prints the end. The error has the exit code if there are findings.
func (d *diagnosis) finish(w io.Writer, asJSON bool) error {
	text := fmt.Sprintf("%s, %s\n", display.Count(d.Problems, "problem"), display.Count(d.Warnings, "warning"))
	if asJSON {
		data, err := json.Marshal(d)
		if err != nil {
			return err
		}
		text = display.JSON(data) + "\n"
	}
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	if d.Problems+d.Warnings > 0 {
		return &exit.Error{Code: exit.Held}
	}
	return nil
}

// The widths of the columns of a result: its state, and its check or what is said of a finding.
const (
	stateColumns = len(doctor.NotVisible) + 2
	checkColumns = len("permissions") + 2
)

// resultText returns a result for people, at most columns wide; 0: no bound.
func resultText(r *doctor.Result, columns int) string {
	var b strings.Builder
	line := func(first, second, text string) {
		b.WriteString(display.Hanging(fmt.Sprintf("%-*s%-*s", stateColumns, first, checkColumns, second), text,
			columns))
	}
	for _, f := range r.Findings {
		line(string(f.State), r.Check, f.What)
		line("", "  because", f.Why)
		line("", "  do", f.Do)
	}
	if len(r.Findings) == 0 && r.State == doctor.OK {
		line(string(r.State), r.Check, r.Text)
	}
	if r.Needs != "" {
		line(string(doctor.NotVisible), r.Check, "needs "+r.Needs)
	}
	return b.String()
}
