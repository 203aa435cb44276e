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

// OneLine makes the text of another client safe for a terminal: line breaks become "; ", and other characters that
// are not printable become "?".
func OneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return printable(strings.Join(lines, "; "))
}

// Plain returns the text of an error in one line, without the prefix that every message has anyway.
func Plain(err error) string { return strings.ReplaceAll(OneLine(err.Error()), "holdfast: ", "") }

// Lines makes a text of this program safe that may quote others. It keeps line breaks.
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

// Name returns a name unchanged if it is unambiguous, and quoted otherwise.
func Name(name string) string {
	q := Quote(name)
	if name == "" || strings.ContainsAny(name, " ,;'`=") || q != `"`+name+`"` {
		return q
	}
	return name
}

// Quote returns the text of another client in quotes, with escapes for what is not printable.
func Quote(text string) string { return strconv.Quote(text) }

// JSON escapes the characters of JSON that are not printable. Only strings contain such characters, and readers of
// JSON treat the escapes alike.
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

// Duration formats d with a precision for its size: 350ms, 12.3s, 4m10s, 2h5m. It rounds down.
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
