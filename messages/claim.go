package messages

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// Claim is what the holder of a lease sends along with a write to the protected resource: the name of
// the lock and the fencing token of the grant. The protected resource refuses a claim whose token is
// lower than the highest token that it has accepted.
type Claim struct {
	Resource string
	Token    Token
}

// Check returns the rule that the claim breaks, as an [InvalidError], or nil. A claim needs a
// resource and a token, so the zero Claim breaks a rule.
func (c Claim) Check() error {
	if err := checkResource("resource", c.Resource); err != nil {
		return err
	}
	return checkRange("token", uint64(c.Token), 1, uint64(MaxToken))
}

// SetHeader writes the claim into a NATS or HTTP header and replaces a claim that is there. It returns
// an [InvalidError] and writes nothing if the claim breaks a rule, or if its resource begins or ends
// with a space, because both protocols trim header values.
func (c Claim) SetHeader(h map[string][]string) error {
	if err := c.Check(); err != nil {
		return err
	}
	if strings.TrimSpace(c.Resource) != c.Resource {
		return Invalid(HeaderResource, "no spaces around it, which a header loses", quote(c.Resource))
	}
	maps.DeleteFunc(h, func(name string, _ []string) bool {
		return isField(name, HeaderToken) ||
			isField(name, HeaderResource)
	})
	h[HeaderToken] = []string{c.Token.String()}
	h[HeaderResource] = []string{c.Resource}
	return nil
}

// ClaimFromHeader reads a claim from a NATS or HTTP header; ok is false if the header has neither field.
// The resource is empty if the header has only a token, which is enough for a service that protects one
// thing. Field names are compared without case, because NATS passes on every spelling. It returns an
// [InvalidError] if a field is malformed or repeated in any spelling, or if the token is missing.
func ClaimFromHeader(h map[string][]string) (c Claim, ok bool, err error) {
	tokens, resources := fields(h, HeaderToken), fields(h, HeaderResource)
	switch {
	case len(tokens) == 0 && len(resources) == 0:
		return Claim{}, false, nil
	case len(tokens) != 1:
		return Claim{}, false, Invalid(HeaderToken, "exactly one", quote(strings.Join(tokens, ", ")))
	case len(resources) > 1:
		return Claim{}, false, Invalid(HeaderResource, "at most one", quote(strings.Join(resources, ", ")))
	}
	if c.Token, err = ParseToken(tokens[0]); err != nil {
		return Claim{}, false, err
	}
	if len(resources) == 1 {
		c.Resource = resources[0]
		if err := checkResource(HeaderResource, c.Resource); err != nil {
			return Claim{}, false, err
		}
	}
	return c, true, nil
}

// fields returns the values of a header field in every spelling of its name.
func fields(h map[string][]string, name string) (values []string) {
	for n, v := range h {
		if isField(n, name) {
			values = append(values, v...)
		}
	}
	slices.Sort(values) // so that errors are deterministic
	return values
}

// isField also ignores spaces around the name: NATS keeps a space before the colon, HTTP refuses it.
func isField(got, name string) bool { return strings.EqualFold(strings.TrimSpace(got), name) } // mutant: HeadersByCase

type claimKey struct{}

// WithClaim returns a context that carries the claim to the code that writes to the protected resource.
// The innermost claim wins.
func WithClaim(ctx context.Context, c Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

// ClaimFrom returns the claim that the context carries, if any.
func ClaimFrom(ctx context.Context) (c Claim, ok bool) {
	c, ok = ctx.Value(claimKey{}).(Claim)
	return c, ok
}
