package request_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/clients/request"
)

func TestWithoutSecrets(t *testing.T) {
	for urls, want := range map[string]string{
		"nats://127.0.0.1:4222":                     "nats://127.0.0.1:4222",
		"nats://u:p@a:1,tls://token@b:2":            "nats://a:1,tls://b:2",
		"u:p@host":                                  "host",
		"nats://u:p@ss@host:4222":                   "nats://host:4222",
		"nats://u:%zz@host:4222, nats://u:p@b:4222": "host:4222,nats://b:4222",
	} {
		if got := request.WithoutSecrets(urls); got != want {
			t.Errorf("withoutSecrets(%q) = %q, want %q", urls, got, want)
		}
	}
}
