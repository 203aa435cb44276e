package serve

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
)

// auditWarnings is how often the log says that the audit file cannot be written.
const auditWarnings = time.Minute

// auditFile is a file at whose end each line is written at once. It can be opened again, so that it can be renamed. It
// is safe for concurrent use.
type auditFile struct {
	path string
	log  *slog.Logger
	// sometimes bounds the warnings: what cannot be written is in the log in any case.
	sometimes rate.Sometimes

	mu   sync.Mutex
	file io.WriteCloser
	// broken: the file ends with a part of a line.
	broken bool
}

// openAudit opens the file, which is created for its owner alone.
func openAudit(path string, log *slog.Logger) (*auditFile, error) {
	a := &auditFile{path: path, log: log, sometimes: rate.Sometimes{First: 1, Interval: auditWarnings}}
	if err := a.open(); err != nil {
		return nil, err
	}
	return a, nil
}

// open opens the file in the place of the one that is open. After an error that one stays.
func (a *auditFile) open() error {
	file, err := os.OpenFile(a.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write %q: %w", a.path, settings.RootCause(err))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file != nil {
		_ = a.file.Close() // nothing is buffered
	}
	a.file = file
	if info, err := file.Stat(); err == nil && info.Size() == 0 {
		a.broken = false // it is another file
	}
	return nil
}

// Write implements io.Writer. An error is logged. After a line of which only a part was written, the next one begins a
// new line.
func (a *auditFile) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err := a.write(line)
	if err != nil {
		a.sometimes.Do(func() { a.log.Error("cannot write the audit file", "file", a.path, "error", err) })
	}
	return n, err
}

func (a *auditFile) write(line []byte) (int, error) {
	if a.broken {
		if _, err := a.file.Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		a.broken = false
	}
	n, err := a.file.Write(line)
	a.broken = err != nil && n > 0
	return n, err
}

func (a *auditFile) close() error { return a.file.Close() }

// logger returns a log that goes to the file, as JSON, and to the log of the node.
func (a *auditFile) logger() *slog.Logger {
	file := slog.NewJSONHandler(a, &slog.HandlerOptions{ReplaceAttr: withUnits})
	return slog.New(slog.NewMultiHandler(a.log.Handler(), file))
}
