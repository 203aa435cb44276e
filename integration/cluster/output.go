//go:build linux

package cluster

import (
	"bytes"
	"strings"
	"sync"
)

// maxOutput bounds what is kept of what a node says, in bytes.
const maxOutput = 256 << 10

// output is the end of what a node has said, through all its lives.
type output struct {
	mu    sync.Mutex
	text  []byte
	wrong string
}

// alarms are what no node may say, whatever happens to it.
var alarms = []string{"panic: ", "fatal error: ", "WARNING: DATA RACE"}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, alarm := range alarms {
		if bytes.Contains(p, []byte(alarm)) {
			o.wrong = alarm
		}
	}
	if o.text = append(o.text, p...); len(o.text) > 2*maxOutput {
		o.text = bytes.Clone(o.text[len(o.text)-maxOutput:])
	}
	return len(p), nil
}

// String returns it.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text[max(0, len(o.text)-maxOutput):])
}

// tail returns the last lines.
func (o *output) tail(lines int) string {
	all := strings.Split(strings.TrimSuffix(o.String(), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// alarm returns what was said of alarms, if anything was.
func (o *output) alarm() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wrong
}
