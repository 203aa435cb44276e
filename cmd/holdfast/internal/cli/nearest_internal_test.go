package cli

import "testing"

func TestNearest(t *testing.T) {
	flags := []string{"listen", "data", "min-ttl", "max-ttl", "nats", "nats-config"}
	for name, want := range map[string]string{
		"lisen": "listen", "min_ttl": "min-ttl", "nast": "nats", "list": "listen", "nats-c": "nats-config", "": "",
		"x": "", "owner": "",
	} {
		if got, _ := Nearest(name, flags); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
