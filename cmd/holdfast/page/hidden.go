package page

import (
	"bytes"
	"fmt"
	"unicode"
)

// visible returns HTML in which no character hides or reorders others: a name could otherwise look like another one. In
// text such a character is shown as its number, as \u202e. Within a tag it is a reference, which means the same. The
// templates escape < and > in values, so they only delimit tags.
func visible(html []byte) []byte {
	if bytes.IndexFunc(html, isHidden) < 0 {
		return html
	}
	var b bytes.Buffer
	inTag := false
	for _, r := range string(html) {
		switch {
		case isHidden(r) && inTag:
			fmt.Fprintf(&b, "&#x%x;", r)
			continue
		case isHidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		case r == '<' || r == '>':
			inTag = r == '<'
		}
		b.WriteRune(r)
	}
	return b.Bytes()
}

func isHidden(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\r' && r != '\t' }
