package embedded

import "testing"

// What the server does with these settings cannot be seen from outside, short of cutting the power.
func TestServerOptions(t *testing.T) {
	t.Parallel()
	opts, err := Config{Name: "n", DataDir: "d"}.options()
	if err != nil {
		t.Fatal(err)
	}
	if !opts.SyncAlways || !opts.NoSigs || !opts.JetStream || opts.StoreDir != "d" || opts.ServerName != "n" ||
		!opts.NoSublistCache || opts.Host != "127.0.0.1" || opts.Port != 4222 {
		t.Errorf("options %+v", opts)
	}
	if opts, err = (Config{DataDir: "d", UnsafeSync: true}).options(); err != nil || opts.SyncAlways {
		t.Errorf("options %+v, error %v", opts, err)
	}
}
