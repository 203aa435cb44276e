package fencesql

import (
	"fmt"
	"regexp"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// name is what stands in statements without quotes in every dialect; 63 bytes is the least that they all
// take.
var name = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$`)

func checkName(what, s string) error {
	if !name.MatchString(s) {
		return fmt.Errorf("fencesql: %w: %s %q: want a name of at most 63 letters, digits and _, "+
			"not beginning with a digit, with a schema before a dot if need be", fence.ErrInvalid, what, s)
	}
	return nil
}
