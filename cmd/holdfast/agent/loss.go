//go:build unix

package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
)

// loss is a lease that was lost, and that holds its resource back.
type loss struct {
	lease holdfast.Lease
	// kind is the event that ended the lease, and reason that of the event; zero if the loss was found in a listing.
	kind   holdfast.EventKind
	reason string
	// tenant is the account whose resource it is; empty: it is of none.
	tenant string
}

// String returns the loss for a message.
func (l loss) String() string {
	return fmt.Sprintf("%s%s by %s, %s", display.Name(l.lease.Resource), cli.OfTenant(l.tenant),
		display.Quote(l.lease.Owner), cli.NamedTokens(l.lease.Token, l.lease.Tokens))
}

// environ returns the environment for the command, without the variables that an outer command of holdfast has set.
func (l loss) environ(base []string) ([]string, error) {
	metadata := l.lease.Metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	asJSON, err := json.Marshal(metadata)
	if err != nil {
		return nil, fmt.Errorf("write the metadata as JSON: %w", err)
	}
	environ := append(settings.ForCommand(base),
		settings.VariableResource+"="+l.lease.Resource,
		settings.VariableToken+"="+l.lease.Token.String(),
		settings.VariableFence+"="+l.fence().String(),
		settings.VariableHolder+"="+l.lease.Owner,
		settings.VariableLoss+"="+l.how(),
		settings.VariableReason+"="+l.reason,
		settings.VariableMetadata+"="+string(asJSON),
	)
	if l.tenant != "" {
		environ = append(environ, settings.VariableTenant+"="+l.tenant)
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if plainKey.MatchString(key) && !strings.Contains(metadata[key], "\x00") { // which an environment cannot hold
			environ = append(environ, settings.PrefixMetadata+strings.ToUpper(key)+"="+metadata[key])
		}
	}
	return environ, nil
}

// fence returns the highest number that the holder may have shown to the protected resource.
func (l loss) fence() holdfast.Token {
	if l.lease.Tokens > 1 {
		return l.lease.Token.Last(l.lease.Tokens) // mutant: MarkBelowTheBlock
	}
	return l.lease.Fence
}

// plainKey matches the keys that have a variable of their own. No two of them have the same one.
var plainKey = regexp.MustCompile("^[a-z0-9_]+$")

// how returns how the lease ended.
func (l loss) how() string {
	if l.kind == 0 {
		return "unknown"
	}
	return strings.ToLower(l.kind.String())
}
