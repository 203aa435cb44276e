package stand

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// CPU returns how much processor time the node has used since it was last started. It reads /proc, so it needs
// Linux.
func (m *Member) CPU() time.Duration {
	m.tb.Helper()
	const tick = time.Second / 100 // USER_HZ, the same on every Linux
	stat, err := os.ReadFile(m.proc("stat"))
	if err != nil {
		m.tb.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+2:]))
	var ticks int64
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			m.tb.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick
}

// Resident returns how many bytes of memory the node has, 0 where there is no /proc.
func (m *Member) Resident() int64 {
	m.tb.Helper()
	status, err := os.ReadFile(m.proc("status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseInt(strings.Fields(kb)[0], 10, 64)
			if err != nil {
				m.tb.Fatal(err)
			}
			return n << 10
		}
	}
	return 0
}

func (m *Member) proc(file string) string { return fmt.Sprintf("/proc/%d/%s", m.Pid(), file) }
