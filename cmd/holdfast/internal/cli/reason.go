package cli

import (
	"slices"
	"strings"
)

// Reason returns who acts and why as events show it, in the form that confirmations have: "anna: it hangs". Either may
// be empty.
func Reason(by, why string) string {
	return strings.Join(slices.DeleteFunc([]string{by, why}, func(part string) bool { return part == "" }), ": ")
}
