package page

import "testing"

// A character that hides or reorders others is shown in text as its number. In a tag it keeps its meaning.
func TestVisible(t *testing.T) {
	t.Parallel()
	for html, want := range map[string]string{
		"<p>orders – 42\n\t é 😀</p>":                     "<p>orders – 42\n\t é 😀</p>",
		"<td>a\u202eb\u200bc\u2066\u00ad\U000e0041</td>": `<td>a\u202eb\u200bc\u2066\u00ad\ue0041</td>`,
		"<input value=\"a\u202eb\"> x\u202ey":            `<input value="a&#x202e;b"> x\u202ey`,
		"<td>\x7f\x00</td>":                              `<td>\u007f\u0000</td>`,
	} {
		if got := string(visible([]byte(html))); got != want {
			t.Errorf("%q: got %q, want %q", html, got, want)
		}
	}
}
