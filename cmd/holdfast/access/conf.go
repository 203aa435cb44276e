package access

import (
	_ "embed"
	"strings"
	"text/template"
)

//go:embed access.tmpl
var source string

// written returns a template with what it shows.
func written(name string, shown any) string {
	var b strings.Builder
	// not at the start of the program, which is that of all commands
	templates := template.Must(template.New("").Parse(source))
	if err := templates.ExecuteTemplate(&b, name, shown); err != nil {
		panic(err) // a mistake in this package
	}
	return b.String()
}

// NSC returns a shell script that adds the user to an account of nsc.
func NSC(u User, account string) string {
	return written("nsc", struct {
		User
		Account string
	}{u, account})
}

// Conf returns users as the section authorization of a NATS configuration.
func Conf(users []User) string { return configuration("authorization", users) }

// configuration returns a template without empty lines. What is between an opening and its closing bracket is indented.
func configuration(name string, shown any) string {
	var b strings.Builder
	depth := 0
	for line := range strings.Lines(written(name, shown)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "}") || strings.HasPrefix(line, "]") {
			depth--
		}
		if line != "" {
			b.WriteString(strings.Repeat("  ", depth) + line + "\n")
		}
		if strings.HasSuffix(line, "{") || strings.HasSuffix(line, "[") {
			depth++
		}
	}
	return b.String()
}
