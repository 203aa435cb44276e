package access

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// Each line is a mistake and what is said of it.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		says string
	}{
		{"watchr", `unknown command "watchr"; did you mean holdfast access watcher?`},
		{"client", `name the resources, as in 'orders.>'; '>' stands for all`},
		{"client a*b", `the pattern: a resource in which * is one whole level and > at the end is the rest, got "a*b"`},
		{"client >.a", `the pattern: a resource in which *`},
		{"client a --user a.b", `--user: a letter, then at most 63 letters, digits, _ and -, got "a.b"`},
		{"client a --inbox-prefix _INBOX.>", `--inbox-prefix: levels of letters`},
		{"client a --inbox-prefix holdfast", `--inbox-prefix: a subject that begins with _INBOX`},
		{"client a --inbox-prefix holdfast.event", `--inbox-prefix: a subject that begins with _INBOX`},
		{"client a --inbox-prefix _R_", `--inbox-prefix: a subject that begins with _INBOX`},
		{"client a --inbox-prefix", `--inbox-prefix requires a value`},
		{"client a --nkey UABC", `--nkey: a public key of a user`},
		{"client a --account A", `--account goes with --format nsc`},
		{"client a --format json", `--format: conf or nsc, got "json"`},
		{"client a --prefix a*", `--prefix: levels of`},
		{"node a", `takes no arguments, got "a"`},
		{"watcher --shards 0", `--shards: 1 to 1024, got "0"`},
		{"watcher --imported --consumers", `--consumers or --imported`},
		{"operator a --tenant a.b", `--tenant: the name of an account`},
		{"deployment --layout two", `--layout: single, import, accounts or tenants, got "two"`},
		{"deployment --application orders", `--application: a letter, then`},
		{"deployment --application AGENT", `--application: another name than`},
		{"deployment --application TENANT_OPERATOR", `--application: another name than`},
		{"deployment --application A --application A", `--application: each name once`},
		{"deployment --verified-users", `--verified-users goes with`},
		{"deployment --layout import --prefix locks", `--prefix: not locks`},
	} {
		out, errs, code := run(t, nil, append([]string{"access"}, strings.Fields(test.args)...)...)
		if code != 2 || out != "" || !strings.Contains(errs, test.says) {
			t.Errorf("%s: exit code %d, %q, %q", test.args, code, out, errs)
		}
	}
	if out, _, code := run(t, nil, "access"); code != 0 || !strings.Contains(out, "watcher ") {
		t.Errorf("without arguments: exit code %d, %q", code, out)
	}
}

// The script for nsc has the same rights as the configuration. It is run with a program in the place of nsc that prints
// its arguments.
func TestNSCHasTheSameRights(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		stand.Must(t, os.WriteFile(file, []byte(text), 0o700))
		return file
	}
	write("nsc", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
	role := []string{"client", "orders.>", "a b", "--user", "orders"}
	script := write("script", printed(t, append(role, "--format", "nsc", "--account", "ORDERS")...))
	cmd := exec.CommandContext(t.Context(), "sh", script)
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out := stand.Value(cmd.Output())(t)
	words := strings.Split(string(out), "\n")
	var got []string
	for i, word := range words {
		if word == "--allow-pub" || word == "--allow-sub" {
			got = append(got, words[i+1])
		}
	}
	var want []string
	for _, found := range regexp.MustCompile(`(?m)^ +"(.*)"$`).FindAllStringSubmatch(printed(t, role...), -1) {
		want = append(want, found[1])
	}
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("nsc has %q, the configuration has %q", got, want)
	}
	if text := strings.Join(words, " "); !strings.Contains(text, "add user --account ORDERS --name orders") ||
		!strings.Contains(text, "generate creds --account ORDERS --name orders") {
		t.Errorf("got %s", text)
	}
}

// With the printed rights the command line does what each role is for, and is refused the rest.
func TestRolesOnTheCommandLine(t *testing.T) {
	t.Parallel()
	conf := printed(t, "node", "--user", "holdfast", "--shards", "1")
	users := conf[:strings.LastIndex(conf, "\n  ]")]
	var passwords []string
	for _, role := range [][]string{
		{"client", "orders.>"}, {"operator", ">", "--doctor"}, {"watcher"}, {"agent", "orders.>"}, {"backup"},
	} {
		text := printed(t, append(role, "--shards", "1")...)
		definition, rest, _ := strings.Cut(text, "\n")
		_, user, _ := strings.Cut(rest, "users: [")
		passwords, users = append(passwords, definition), users+user[:strings.LastIndex(user, "\n  ]")]
	}
	d := deploy(t, strings.Join(passwords, "\n")+"\n"+users+"\n  ]\n}\n", 1, 1)
	as := func(user string, args ...string) func(code int, says string) {
		t.Helper()
		return d.command(user, args...)
	}
	as("client", "lock", "orders.1", "--", "true")(0, `^$`)
	as("client", "acquire", "orders.1", "--owner", "me", "--ttl", "1h")(0, `token 2`)
	as("client", "extend", "orders.1", "--owner", "me", "--ttl", "2h")(0, `lease 2h`)
	as("client", "acquire", "people.1")(5, `does not permit this user to acquire`)
	as("client", "break", "orders.1", "--token", "2")(5, `does not permit this user to break`)
	as("client", "ls")(5, `does not permit this user to list`)
	as("operator", "ls")(0, `orders\.1`)
	as("operator", "doctor")(3, `0 problems, 1 warning`) // of its own right to break
	as("operator", "acquire", "orders.2")(5, `does not permit this user to acquire`)
	as("watcher", "history", "orders.1")(0, `acquired orders\.1 by "me", token 2`)
	as("watcher", "watch", "--since", "1h", "--count", "2")(0, `released orders\.1`)
	as("watcher", "release", "orders.1", "--owner", "me", "--token", "2")(5, `does not permit this user to release`)
	as("backup", "backup", filepath.Join(t.TempDir(), "backup"))(0, `1 lease`)
	as("operator", "break", "orders.1", "--token", "2")(0, `^broke`)
	as("client", "acquire", "orders.7", "--owner", "me", "--ttl", "100ms", "--confirm")(0, `token 1`)
	stand.Eventually(t, "the lease is lost", func() bool {
		r := ask(t, d.connect("operator"), "holdfast.get.orders.7", "")
		return r.GetStatus() == messages.Status_HELD_BACK
	})
	as("client", "confirm", "orders.7", "--token", "1")(5, `does not permit this user to confirm`)
	as("operator", "confirm", "orders.7", "--token", "1")(0, `confirmed`)
	d.wantNoViolation("holdfast")
}
