package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// Pattern selects resources; the zero Pattern selects all.
type Pattern struct {
	// Text is the pattern as the user wrote it, and Key the same in the encoding of the contract.
	Text, Key string
}

// OnePattern reads the only argument, which may be missing.
func OnePattern(cmd *cobra.Command, args []string) (Pattern, error) {
	switch len(args) {
	case 0:
		return Pattern{}, nil
	case 1:
		return ParsePattern(args[0])
	}
	return Pattern{}, exit.Usagef("%s takes one pattern, got %d: %s; quote a name with spaces or stars",
		cmd.CommandPath(), len(args), QuotedList(args))
}

// ParsePattern reads a resource that may contain wildcards. Other levels are encoded as in a key, so that users
// write names as with the other commands.
func ParsePattern(text string) (Pattern, error) {
	name := messages.NormalizeResource(text)
	key, err := encodePattern(name)
	if err == nil {
		_, err = messages.ParsePattern(key)
	}
	if err != nil {
		return Pattern{}, exit.Usagef("the pattern: a resource in which * is one whole level and > at the end "+
			`is the rest, got %s; \* and \> are these characters themselves`,
			display.Quote(text))
	}
	return Pattern{Text: text, Key: key}, nil
}

// literal takes the backslash from what is no wildcard.
var literal = strings.NewReplacer(`\*`, "*", `\>`, ">")

// encodePattern keeps wildcards, misplaced ones too: messages.ParsePattern refuses those.
func encodePattern(name string) (string, error) {
	if !strings.ContainsAny(name, "*>") {
		return messages.EncodeKey(name)
	}
	levels := strings.Split(name, ".")
	for i, level := range levels {
		plain := literal.Replace(level)
		if plain == level && strings.ContainsAny(level, "*>") {
			continue
		}
		key, err := messages.EncodeKey(plain)
		if err != nil {
			return "", err
		}
		levels[i] = key
	}
	return strings.Join(levels, "."), nil
}

// That returns the pattern as a relative clause.
func (p Pattern) That() string {
	if p.Text == "" {
		return ""
	}
	return " that match " + display.Name(p.Text)
}
