package display

import "strings"

// Hanging returns a text behind a head, in lines of at most columns cells that begin below the text; 0: one line. A
// word that is longer than a line is not divided.
func Hanging(head, text string, columns int) string {
	margin := Width(head)
	var b strings.Builder
	b.WriteString(head)
	at := margin
	for i, word := range strings.Fields(printable(text)) {
		switch {
		case i == 0:
		case columns > 0 && at+1+Width(word) > columns && at > margin:
			b.WriteString("\n" + strings.Repeat(" ", margin))
			at = margin
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += Width(word)
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}
