package fencefile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// raise checks the claim and raises its mark. When it returns nil the mark is on disk.
func (d *Dir) raise(c fence.Claim) error {
	name := markName(c.Resource)
	highest, err := d.mark(name, c.Resource)
	if err != nil {
		return d.failed(err)
	}
	if err := d.rule.Check(c, highest); err != nil {
		return err
	}
	if c.Token == highest {
		// Its writer may have died before it was on disk.
		return d.failed(settle(d.root, control))
	}
	return d.failed(replace(d.root, name, []byte(c.Token.String()+"\n"+c.Resource+"\n"), 0o666))
}

// mark returns the token in the file, 0 if there is none.
func (d *Dir) mark(name, resource string) (fence.Token, error) {
	content, err := read(d.root, name)
	if err != nil || content == nil {
		return 0, err
	}
	digits, rest, _ := strings.Cut(string(content), "\n")
	token, err := fence.ParseToken(digits)
	if err != nil || rest != resource+"\n" {
		return 0,
			fmt.Errorf(
				"%s, of resource %q: %w %.600q; if the highest token is known, write it there in 15 digits, and the "+
					"resource on the second line",
				name, resource, fence.ErrMalformed, content)
	}
	return token, nil
}

// markName returns the same short name for a resource on every file system, also on those that take
// two spellings for one.
func markName(resource string) string {
	sum := sha256.Sum256([]byte(resource))
	return control + "/" + hex.EncodeToString(sum[:])
}
