package page

// longName is from how many characters a name is cut in a table; the view of a lock has all of it.
const longName = 56

// cut returns a name with a mark in place of its middle if it is long: both ends tell names apart.
func cut(name string) string {
	runes := []rune(name)
	if len(runes) <= longName {
		return name
	}
	return string(runes[:longName/2]) + "…" + string(runes[len(runes)-longName/2+1:])
}
