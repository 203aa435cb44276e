package messages

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// Claim is what the holder of a lease shows to whatever the lock protects: of which resource it holds
// the lease, and by which grant. A protected resource refuses a claim whose token is lower than the
// highest it has seen.
type Claim struct {
	Resource string
	Token    Token
}

// Check returns the rule that the claim breaks, as an [InvalidError], or nil. The zero Claim breaks
// one: nothing is claimed without a resource and a token.
func (c Claim) Check() error {
	if err := checkResource("resource", c.Resource); err != nil {
		return err
	}
	return checkRange("token", uint64(c.Token), 1, uint64(MaxToken))
}

// SetHeader writes the claim into a header of NATS or HTTP, in place of one that is there. It is an
// [InvalidError], and nothing is written, if the claim breaks a rule or if its resource begins or ends
// with a space, which both protocols would cut off on the way.
func (c Claim) SetHeader(h map[string][]string) error {
	if err := c.Check(); err != nil {
		return err
	}
	if strings.TrimSpace(c.Resource) != c.Resource {
		return invalid(HeaderResource, "no spaces around it, which a header loses", quote(c.Resource))
	}
	maps.DeleteFunc(h, func(name string, _ []string) bool { return isField(name, HeaderToken) || isField(name, HeaderResource) })
	h[HeaderToken] = []string{c.Token.String()}
	h[HeaderResource] = []string{c.Resource}
	return nil
}

// ClaimFromHeader reads a claim from a header of NATS or HTTP; not ok if the header has neither of its
// fields. The resource is empty if the header has only a token: whoever protects a single thing knows
// which. Names are compared without case, as in HTTP; NATS passes every spelling on. It is an
// [InvalidError] if a field is malformed, or there twice in whatever spelling, or the token is missing.
func ClaimFromHeader(h map[string][]string) (c Claim, ok bool, err error) {
	tokens, resources := fields(h, HeaderToken), fields(h, HeaderResource)
	switch {
	case len(tokens) == 0 && len(resources) == 0:
		return Claim{}, false, nil
	case len(tokens) != 1:
		return Claim{}, false, invalid(HeaderToken, "exactly one", quote(strings.Join(tokens, ", ")))
	case len(resources) > 1:
		return Claim{}, false, invalid(HeaderResource, "at most one", quote(strings.Join(resources, ", ")))
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
	slices.Sort(values) // so that errors are the same each time
	return values
}

// isField ignores spaces too: NATS keeps one before the colon, and HTTP refuses it.
func isField(got, name string) bool { return strings.EqualFold(strings.TrimSpace(got), name) }

type claimKey struct{}

// WithClaim returns a context that carries the claim, so that a call deep down can pass it on to the
// protected resource. Of several the innermost counts.
func WithClaim(ctx context.Context, c Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

// ClaimFrom returns the claim that the context carries, if any.
func ClaimFrom(ctx context.Context) (c Claim, ok bool) {
	c, ok = ctx.Value(claimKey{}).(Claim)
	return c, ok
}
