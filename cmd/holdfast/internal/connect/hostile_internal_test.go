package connect

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

// A context of the nats command line of any bytes is refused as a mistake of usage, or is what its file says, without a
// setting that is not supported. A name leads to no file outside of the folder.
func FuzzContext(f *testing.F) {
	target := blindtest.New(f)
	for _, seed := range []string{
		`{"url":"nats://a:1,b:2","user":"u","password":"p","inbox_prefix":"_I","tls_first":true}`,
		`{"creds":"~/a.creds","nkey":"","cert":"c","key":"k","ca":"ca","token":"t"}`,
		`{"user_jwt":"x"}`, `{"NSC":"nsc://a/b/c"}`, `{"url":1}`, `{"url":"a","url":"b"}`, `[]`, `null`, "\x00", "",
	} {
		target.Add("local", []byte(seed))
	}
	target.Add("../local", []byte("{}"))
	target.Add(".", []byte("{}"))
	f.Setenv("XDG_CONFIG_HOME", "/config")
	target.Fuzz(func(t *testing.T, name string, text []byte) {
		path, err := contextFile(name)
		if err != nil {
			isUsage(t, err)
		} else if filepath.Dir(path) != "/config/nats/context" || !strings.HasSuffix(path, ".json") {
			t.Errorf("%q leads to %q", name, path)
		}
		n, err := parseContext(path, text)
		if err != nil {
			isUsage(t, err)
			return
		}
		if n.NSC+n.SocksProxy+n.Domain+n.APIPrefix+n.WindowsStore+n.WindowsCert != "" ||
			(n.UserJWT == "") != (n.UserSeed == "") {
			t.Errorf("%q is taken as %+v", text, n)
		}
		if written, err := json.Marshal(n); err != nil {
			t.Error(err)
		} else if again, err := parseContext(path, written); err != nil || !reflect.DeepEqual(again, n) {
			t.Errorf("%+v becomes %+v, %v", n, again, err)
		}
	})
}

func isUsage(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*exit.Error](err); !ok || e.Code != exit.Usage {
		t.Errorf("%v is no mistake of usage", err)
	}
}
