package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

// A settings file of any bytes sets known flags only, or is refused as a mistake of usage.
func FuzzFile(f *testing.F) {
	target := blindtest.New(f)
	for _, seed := range []string{
		"name: n1\nshards: 3\n", "routes: [a, b]\n", "shards: -1", "unknown: 1", "config: other.yaml", "name: {a: b}",
		"a: &a [*a]", "- x",
		"a: &a [x,x]\nroutes: [*a,*a]\n", "name: null", "NAME: n2", "\x00", "{", "name = \"n1\"\nshards = 3\n",
		"[name]\na = 1\n", "name = 1979-05-27",
	} {
		target.Add(false, []byte(seed))
		target.Add(true, []byte(seed))
	}
	dir := f.TempDir()
	target.Fuzz(func(t *testing.T, toml bool, file []byte) {
		path := filepath.Join(dir, "settings.yaml")
		if toml {
			path = filepath.Join(dir, "settings.toml")
		}
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		name, shards := flags.String("name", "default", ""), flags.Uint32("shards", 0, "")
		routes, config := flags.StringSlice("routes", nil, ""), flags.String(settings.ConfigFlag, "", "")
		flags.VisitAll(func(f *pflag.Flag) { settings.SetEnv(f, "HOLDFAST_NOT_SET_"+f.Name) })
		if err := flags.Set(settings.ConfigFlag, path); err != nil {
			t.Fatal(err)
		}
		given, err := settings.Load(flags)
		if err != nil {
			if e, ok := errors.AsType[*exit.Error](err); !ok || e.Code != exit.Usage {
				t.Errorf("%v is no mistake of usage", err)
			}
			return
		}
		if *config != path {
			t.Errorf("the file names itself %q", *config)
		}
		if *name != "default" && !given.Has("name") || *shards != 0 && !given.Has("shards") ||
			*routes != nil && !given.Has("routes") {
			t.Errorf("%q, %d and %q come from %v", *name, *shards, *routes, given.Given)
		}
	})
}
