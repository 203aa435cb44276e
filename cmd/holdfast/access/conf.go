package access

import (
	"fmt"
	"strings"
)

// text is a file of NATS in the making.
type text struct {
	strings.Builder
	depth int
}

func (t *text) line(format string, args ...any) {
	t.WriteString(strings.Repeat("  ", t.depth))
	t.WriteString(fmt.Sprintf(format, args...) + "\n")
}

// block writes what is between an opening line and a closing bracket.
func (t *text) block(opening, closing string, inside func()) {
	t.line("%s", opening)
	t.depth++
	inside()
	t.depth--
	t.line("%s", closing)
}

// Conf returns users as the section authorization of a NATS configuration.
func Conf(users []User) string {
	t := &text{}
	t.block("authorization {", "}", func() { t.users(users) })
	return t.String()
}

func (t *text) users(users []User) {
	t.block("users: [", "]", func() {
		for _, u := range users {
			t.user(u)
		}
	})
}

func (t *text) user(u User) {
	t.line("# %s: %s", u.Name, u.Role)
	for _, warning := range u.Warnings {
		t.line("# Warning: %s", warning)
	}
	t.block("{", "}", func() {
		if u.NKey != "" {
			t.line("nkey: %s", u.NKey)
		} else {
			t.line("user: %q, password: $%s", u.Name, passwordOf(u.Name))
		}
		t.block("permissions: {", "}", func() {
			t.subjects("publish", u.Rights, func(r Right) []string { return r.Publish })
			t.subjects("subscribe", u.Rights, func(r Right) []string { return r.Subscribe })
		})
	})
}

// subjects writes one list of the rights, with what each is for.
func (t *text) subjects(list string, rights []Right, of func(Right) []string) {
	t.block(list+": [", "]", func() {
		for _, r := range rights {
			subjects := of(r)
			if len(subjects) == 0 {
				continue
			}
			t.line("# %s", r.For)
			for _, subject := range subjects {
				t.line("%q", subject)
			}
		}
	})
}

// passwordOf returns the variable with the password of a user.
func passwordOf(user string) string {
	return strings.ToUpper(strings.ReplaceAll(user, "-", "_")) + "_PASSWORD"
}
