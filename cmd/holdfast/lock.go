package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/messages"
)

// lock is what the commands about one resource have in common.
type lock struct {
	op         messages.Operation
	connection connection
	owner      string
	json       bool

	resource, key string
}

// addTo gives the command the common flags, and what to do: build says what to ask, once all flags
// have their values.
func (l *lock) addTo(cmd *cobra.Command, build func() question) {
	addFlags(cmd, sectionOutput, func(f *pflag.FlagSet) {
		f.BoolVar(&l.json, "json", false, "print the whole answer as one line of JSON")
	})
	l.connection.addTo(cmd)
	cmd.Args = oneResource
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := l.load(cmd.Flags(), args[0]); err != nil {
			return err
		}
		q := build()
		q.op, q.key = l.op, l.key
		if err := messages.DefaultLimits().Check(q.message(q.wait)); err != nil {
			return badRequest(err)
		}
		return l.run(cmd, q)
	}
}

// addOwner gives the command the flag of those who ask for something of their own.
func (l *lock) addOwner(f *pflag.FlagSet) {
	f.StringVar(&l.owner, "owner", defaultOwner(), "ask in this `NAME`; choose one per process or task")
	setEnv(f.Lookup("owner"), ownEnv("owner"))
	f.Lookup("owner").Usage += " [$" + ownEnv("owner") + "]"
}

func (l *lock) load(flags *pflag.FlagSet, resource string) error {
	s, err := loadSettings(flags)
	if err != nil {
		return err
	}
	l.resource = messages.NormalizeResource(resource)
	if l.key, err = messages.EncodeKey(l.resource); err != nil {
		return badRequest(err)
	}
	return l.connection.check(s)
}

// badRequest says which flag breaks a rule of the contract.
func badRequest(err error) error {
	var rule *messages.InvalidError
	if !errors.As(err, &rule) {
		return err
	}
	field, _, _ := strings.Cut(rule.Field, " ") // "metadata key"
	switch field {
	case "owner", "request_id", "metadata", "reason":
		field = "--" + strings.ReplaceAll(field, "_", "-")
	}
	text := field + ": " + rule.Rule
	if rule.Got != "" {
		text += ", got " + rule.Got
	}
	return usage("%s", text)
}

func (l *lock) run(cmd *cobra.Command, q question) error {
	begun := time.Now()
	nc, err := l.connection.open(cmd.Context(), string(l.op), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer nc.Close()
	q.spent = time.Since(begun)
	reply, err := l.connection.ask(cmd.Context(), nc, q)
	if err != nil {
		return err
	}
	a := answer{op: l.op, resource: l.resource, owner: l.owner, wait: q.wait, flags: cmd.Flags(), Reply: reply}
	return a.print(cmd.OutOrStdout(), l.json)
}
