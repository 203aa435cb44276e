package access

import (
	"fmt"
	"strings"
)

// NSC returns a shell script that adds the user to an account of nsc.
func NSC(u User, account string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\n# %s: %s\n", u.Name, u.Role)
	for _, warning := range u.Warnings {
		fmt.Fprintf(&b, "# Warning: %s\n", warning)
	}
	b.WriteString("set -eu\n")
	words := []string{"nsc add user", "--account " + quote(account), "--name " + quote(u.Name)}
	if u.NKey != "" {
		words = append(words, "--public-key "+u.NKey)
	}
	for _, subject := range u.Publish() {
		words = append(words, "--allow-pub "+quote(subject))
	}
	for _, subject := range u.Subscribe() {
		words = append(words, "--allow-sub "+quote(subject))
	}
	b.WriteString(strings.Join(words, " \\\n  ") + "\n")
	fmt.Fprintf(&b, "nsc generate creds --account %s --name %s --output-file %s\n", quote(account), quote(u.Name), quote(u.Name+".creds"))
	return b.String()
}

// quote returns a word for a shell. No subject, no user and no account has a quotation mark.
func quote(word string) string { return "'" + word + "'" }
