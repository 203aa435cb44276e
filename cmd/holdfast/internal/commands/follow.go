package commands

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// follow repeats the listing until ctx ends, which is not an error. After the first listing it tolerates that
// the service is unavailable.
func (l *list) follow(cmd *cobra.Command) error {
	ctx := cmd.Context()
	v := l.view(cmd)
	defer v.close()
	tick := time.NewTicker(l.watch.Every.Duration)
	defer tick.Stop()
	for first := true; ; first = false {
		all, err := l.all(ctx, cmd.OutOrStdout())
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (first || exit.CodeOf(err) != exit.Unavailable):
			return err
		}
		if err := v.show(time.Now(), all.rows(), err); err != nil {
			return err
		}
		l.connection.Timeout.Duration, l.connection.Notices = min(l.connection.Timeout.Duration, followTimeout), nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// followTimeout bounds each listing after the first.
const followTimeout = 2 * time.Second

// view displays successive listings.
type view interface {
	show(now time.Time, rows []row, err error) error
	close()
}

func (l *list) view(cmd *cobra.Command) view {
	text := func(rows []row, columns int) string { return l.text(cmd, rows, columns) }
	out := cmd.OutOrStdout()
	if display.SizeOf(out) == (display.Size{}) || os.Getenv("TERM") == "dumb" {
		return &scroll{out: out, errs: cmd.ErrOrStderr(), text: text}
	}
	what, flag := "held", ""
	if l.heldBack {
		what, flag = "held back", " --held-back"
	}
	arguments := cli.TenantFlag(l.connection.Tenant)
	if l.pattern.Text != "" {
		arguments += " " + display.Name(l.pattern.Text)
	}
	title := fmt.Sprintf("holdfast ls%s%s, every %s", flag, arguments, l.watch.Bare())
	return &screen{out: out, title: title, what: what, text: text}
}

// scroll writes one listing below the other, each below its time.
type scroll struct {
	out, errs io.Writer
	text      func([]row, int) string
}

func (s *scroll) show(now time.Time, rows []row, err error) error {
	if err != nil {
		_, err = fmt.Fprintf(s.errs, "%s holdfast: %s\n", now.Format(time.RFC3339), display.Lines(exit.Message(err)))
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s\n%s", now.Format(time.RFC3339), s.text(rows, 0))
	return err
}

func (s *scroll) close() {}

// screen redraws the listing on the alternate screen of the terminal, which close leaves.
type screen struct {
	out   io.Writer
	title string
	// what is what the listed leases are: "held".
	what string
	text func([]row, int) string
	on   bool
}

func (s *screen) show(now time.Time, rows []row, err error) error {
	var b strings.Builder
	if !s.on {
		b.WriteString(display.EnterScreen)
		s.on = true
	}
	b.WriteString(display.ToTop + display.ClearBelow + strings.Join(s.lines(display.SizeOf(s.out), now, rows, err), "\r\n"))
	_, err = io.WriteString(s.out, b.String())
	return err
}

// lines returns what fits on the screen: a title, the table, and the number of omitted rows.
func (s *screen) lines(at display.Size, now time.Time, rows []row, err error) []string {
	title := s.title + ", " + now.Format(time.TimeOnly)
	if err != nil {
		return []string{display.Shorten(title, at.Columns), "", display.Shorten("holdfast: "+display.OneLine(exit.Message(err)), 2*at.Columns)}
	}
	lines := []string{display.Shorten(fmt.Sprintf("%s: %d %s", title, leases(rows), s.what), at.Columns), ""}
	const others = 4 // the title, the line below it, the header of the table, and the number of omitted rows
	room := max(at.Rows-others, 1)
	more := len(rows) - room
	if more == 1 {
		more = 0 // it fits on the line that would announce it
	}
	if more > 0 {
		rows = rows[:room]
	}
	lines = append(lines, strings.Split(strings.TrimSuffix(s.text(rows, at.Columns), "\n"), "\n")...)
	if more > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more", more))
	}
	return lines
}

// leases returns the number of leases.
func leases(rows []row) (n int) {
	for _, r := range rows {
		if r.lease != nil {
			n++
		}
	}
	return n
}

func (s *screen) close() {
	if s.on {
		_, _ = io.WriteString(s.out, display.LeaveScreen) // an error of the terminal cannot be reported
	}
}
