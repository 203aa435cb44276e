package serve

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
)

// The permissions of a file that users other than its owner and group have.
const (
	othersRead  fs.FileMode = 0o004
	othersWrite fs.FileMode = 0o002
)

// warnOfExposed logs a warning for each file of the node that other users of this host can use: who writes to the data
// can change locks, and who reads a login can be the node.
func (s *serve) warnOfExposed(cfg *server.Config) {
	if runtime.GOOS == "windows" { // it has no such permissions
		return
	}
	data := cfg.Embedded.DataDir
	if cfg.NATS != nil {
		data = ""
	}
	for _, file := range []struct {
		what, path string
		refused    fs.FileMode
	}{
		{"--data", data, othersWrite},
		{"--auth", cfg.Embedded.AuthFile, othersRead | othersWrite},
		{"--nats-config", cfg.Embedded.ConfigFile, othersWrite},
		{"--tenants", s.tenants.file, othersWrite},
		{"--creds", s.login.Creds, othersRead | othersWrite},
		{"--nkey", s.login.NKey, othersRead | othersWrite},
		{"--tls-key", cfg.Embedded.TLS.Key, othersRead | othersWrite},
		{"--cluster-tls", cfg.Embedded.ClusterTLS.Key, othersRead | othersWrite},
		{"--http-tls", s.monitoring.web(cfg).Key, othersRead | othersWrite},
	} {
		if file.path == "" {
			continue
		}
		info, err := os.Stat(file.path)
		if err != nil { // whoever opens it says so
			continue
		}
		if mode := info.Mode().Perm(); mode&file.refused != 0 {
			cfg.Log.Warn("a file is open to other users of this host; take their permissions away with chmod o-rwx",
				"flag", file.what, "file", file.path, "mode", fmt.Sprintf("%04o", mode))
		}
	}
}
