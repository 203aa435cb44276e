// Package display formats text and tables for a terminal. Text of others loses everything that a terminal would
// interpret.
package display

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
)

// OneLine makes what others have written safe to show on a terminal, where it can pass for nothing but
// one line: line breaks become "; ", and whatever else a terminal might obey becomes "?".
func OneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return printable(strings.Join(lines, "; "))
}

// Lines makes what we say ourselves safe, since it may quote others. It keeps its line breaks.
func Lines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n")
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(text, "?"))
}

// Name returns a name as it is if it can be mistaken for nothing else, and quoted otherwise.
func Name(name string) string {
	q := Quote(name)
	if name == "" || strings.ContainsAny(name, " ,;'`=") || q != `"`+name+`"` {
		return q
	}
	return name
}

// Quote returns what somebody else has written so that it begins and ends visibly and holds nothing
// that a terminal might obey.
func Quote(text string) string { return strconv.Quote(text) }

// JSON rewrites JSON so that it holds nothing that a terminal might obey. Only strings can have
// such characters, and \u is the same to whoever reads them.
func JSON(json []byte) string {
	var b strings.Builder
	for _, r := range string(json) {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Duration returns d as people write it, cut to what matters at its size: 350ms, 12.3s, 4m10s, 2h5m.
// It never shows more than there is.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		tenths := d / (100 * time.Millisecond)
		return strconv.FormatFloat(float64(tenths)/10, 'f', -1, 64) + "s"
	case d < time.Hour:
		return pair(d/time.Minute, "m", d%time.Minute/time.Second, "s")
	}
	return pair(d/time.Hour, "h", d%time.Hour/time.Minute, "m")
}

func pair(large time.Duration, largeUnit string, small time.Duration, smallUnit string) string {
	text := strconv.FormatInt(int64(large), 10) + largeUnit
	if small > 0 {
		text += strconv.FormatInt(int64(small), 10) + smallUnit
	}
	return text
}
