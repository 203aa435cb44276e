package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// refusedDuration matches the service's refusal of a duration beyond its limits.
var refusedDuration = regexp.MustCompile(`\b(ttl|wait|delay)_ms: (?:(\d+) to |at most )(\d+), got \d+`)

// Refusal rewords the service's refusal of a duration with the flag, the units and the value as the user wrote it.
// Any other text is unchanged, as are all if flags is nil.
func Refusal(text string, flags *pflag.FlagSet) string {
	found := refusedDuration.FindStringSubmatch(text)
	if found == nil || flags == nil || flags.Lookup(found[1]) == nil {
		return text
	}
	rule := "at most " + exact(found[3])
	if found[2] != "" {
		rule = exact(found[2]) + " to " + exact(found[3])
	}
	return strings.Replace(text, found[0],
		fmt.Sprintf("--%s: %s, got %q", found[1], rule, flags.Lookup(found[1]).Value), 1)
}

// exact formats a number of milliseconds without rounding.
func exact(digits string) string {
	ms, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		return digits + "ms"
	}
	text := Millis(uint32(ms)).String()
	for _, rest := range []string{"0s", "0m"} {
		if d, err := time.ParseDuration(strings.TrimSuffix(text, rest)); err == nil && d == Millis(uint32(ms)) {
			text = strings.TrimSuffix(text, rest)
		}
	}
	return text
}

// BadRequest names the flag that breaks a rule of the contract.
func BadRequest(err error) error {
	var rule *messages.InvalidError
	if !errors.As(err, &rule) {
		return err
	}
	field, _, _ := strings.Cut(rule.Field, " ") // "metadata key"
	switch field {
	case "owner", "request_id", "metadata", "reason", "by", "how", "confirm":
		field = "--" + strings.ReplaceAll(field, "_", "-")
	case "delay_ms":
		field = "--delay"
	}
	text := field + ": " + rule.Rule
	if rule.Got != "" {
		text += ", got " + rule.Got
	}
	return exit.Usagef("%s", text)
}
