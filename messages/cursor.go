package messages

import (
	"strconv"
	"strings"
)

// Cursor is a place in a listing: behind a resource, or behind one of the leases of a shared one. The zero value is the
// beginning.
type Cursor struct {
	Resource string
	// Token is that of the last lease before the place; 0: all leases of the resource are before it.
	Token Token
}

// cursorSeparator stands between a resource and a token: a resource has no control characters.
const cursorSeparator = "\n"

// String returns the cursor as it is in a request: the resource, and with a token a line feed and the token in decimal.
func (c Cursor) String() string {
	if c.Token == 0 {
		return c.Resource
	}
	return c.Resource + cursorSeparator + strconv.FormatUint(uint64(c.Token), 10)
}

// ParseQualifiedCursor parses the output of [Cursor.String] of a cursor whose resource may be a qualified name. Only
// operators have such cursors. It returns an [InvalidError] for anything else.
func ParseQualifiedCursor(s string) (Cursor, error) {
	tenant, rest := Unqualify(s)
	c, err := ParseCursor(rest)
	if err != nil || rest == s {
		return c, err
	}
	if err := CheckTenant(tenant); err != nil || c.Resource == "" {
		return Cursor{}, Invalid("after", "a resource, or next of an earlier page", quote(s))
	}
	c.Resource = Qualify(tenant, c.Resource)
	return c, nil
}

// ParseCursor parses the output of [Cursor.String]. It returns an [InvalidError] for anything else.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	resource, digits, hasToken := strings.Cut(s, cursorSeparator)
	c := Cursor{Resource: resource}
	if hasToken {
		token, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || token == 0 || token > uint64(MaxToken) || strconv.FormatUint(token, 10) != digits {
			return Cursor{}, Invalid("after", "a resource, or next of an earlier page", quote(s))
		}
		c.Token = Token(token)
	}
	if err := checkResource("after", resource); err != nil {
		return Cursor{}, err
	}
	return c, nil
}
