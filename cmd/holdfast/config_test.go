package main_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// Each source of settings goes before the ones below it: the name in the ready line says which one won.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	yaml, toml := filepath.Join(dir, "holdfast.yaml"), filepath.Join(dir, "holdfast.toml")
	write(t, yaml, "name: from-yaml\nlisten: 127.0.0.1:0\nshards: 2\nmin-ttl: 1s\nunsafe-sync: false\n")
	write(t, toml, "name = \"from-toml\"\nlisten = \"127.0.0.1:0\"\nshards = 3\nunsafe-sync = true\n")
	for name, test := range map[string]struct {
		variables, args []string
		want            []string
	}{
		"YAML":                   {nil, []string{"--config", yaml}, []string{"node from-yaml,", "2 shards"}},
		"TOML":                   {nil, []string{"--config", toml}, []string{"node from-toml,", "3 shards"}},
		"FileFromTheEnvironment": {[]string{"HOLDFAST_CONFIG=" + toml}, nil, []string{"node from-toml,"}},
		"FileFromTheFlag": {[]string{"HOLDFAST_CONFIG=" + toml}, []string{"--config", yaml},
			[]string{"node from-yaml,"}},
		"EnvironmentBeforeFile": {[]string{"HOLDFAST_NAME=from-env"}, []string{"--config", yaml},
			[]string{"node from-env,", "2 shards"}},
		"EmptyVariableIsNone": {[]string{"HOLDFAST_NAME="}, []string{"--config", yaml},
			[]string{"node from-yaml,"}},
		"FlagBeforeEnvironment": {[]string{"HOLDFAST_NAME=from-env", "HOLDFAST_SHARDS=5"},
			[]string{"--config", yaml, "--name", "from-flag"}, []string{"node from-flag,", "5 shards"}},
		"VariablesOfOthersDoNoHarm": {[]string{"HOLDFAST_PORT=tcp://10.0.0.1:4222", "HOLDFAST_SERVICE_HOST=10.0.0.1"},
			[]string{"--config", yaml}, []string{"node from-yaml,"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serveWith(t, test.variables, test.args...)
			for _, want := range test.want {
				if !strings.Contains(p.ready, want) {
					t.Errorf("the ready line lacks %q: %s", want, p.ready)
				}
			}
		})
	}
	t.Run("TheFileReachesTheNode", func(t *testing.T) {
		t.Parallel()
		p := serveWith(t, nil, "--config", yaml)
		p.holdfast(t, "acquire", "orders.42", "--ttl", "500ms").want(t, 2, `invalid: --ttl: 1s to 24h, got "500ms"`)
	})
}

func TestBadConfigurationFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, says string }{
		"unknown.yaml": {"lisen: 127.0.0.1:0\n", `unknown\.yaml: unknown setting "lisen"; did you mean "listen"\?`},
		"unknown.toml": {"[place]\nport = 1\n",
			`unknown\.toml: unknown setting "place"; the settings are: allow-remote, `},
		"self.yaml": {"config: other.yaml\n", `self\.yaml: unknown setting "config"`},
		"routes.yaml": {"cluster-listen: 127.0.0.1:6222\nroutes:\n- 127.0.0.1:6222\n- 127.0.0.1\n",
			`.*route "127\.0\.0\.1" is not HOST:PORT`},
		"deep.yaml":   {"cluster-listen: 127.0.0.1:6222\nroutes:\n- [a]\n", `routes in deep\.yaml: one value`},
		"number.yaml": {"shards: many\n", `shards in number\.yaml: a whole number, got "many"`},
		"half.toml":   {"shards = 1.5\n", `shards in half\.toml: a whole number, got "1\.5"`},
		"list.yaml":   {"name: [a, b]\n", `name in list\.yaml: one value, not a list, a table or nothing`},
		"broken.yaml": {"name: a\n  b: c\n",
			`--config: cannot parse ".*broken\.yaml", a table of settings: yaml: line 2: `},
		"broken.toml": {"name = = 1\n", `--config: cannot parse ".*broken\.toml", a table of settings: toml: `},
		"table.toml":  {"[server]\nport = 1\n", `server in table\.toml: one value, not a list, a table or nothing`},
		"config.json": {"{}\n", `--config: a file that ends in \.yaml, \.yml or \.toml, got ".*config\.json"`},
		"clash.yaml":  {"nats: nats://x\ndata: d\n", `nats in clash\.yaml and data in clash\.yaml exclude each other`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), name)
			write(t, file, test.text)
			run(t, "serve", "--config", file).want(t, 2, `^holdfast: `+test.says)
		})
	}
	run(t, "serve", "--config", "missing.yaml").want(t, 2,
		`^holdfast: --config: cannot read "missing\.yaml": no such file or directory$`)
	runWith(t, []string{"HOLDFAST_CONFIG=missing.yaml"}, "serve").want(t, 2,
		`^holdfast: HOLDFAST_CONFIG: cannot read "missing\.yaml"`)
}
