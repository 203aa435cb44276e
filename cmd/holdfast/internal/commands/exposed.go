package commands

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
)

// The permissions of a file that users other than its owner and group have.
const (
	othersRead  fs.FileMode = 0o004
	othersWrite fs.FileMode = 0o002
)

// warnOfExposed logs a warning for each file of the node that other users of this host can use: who writes to the data can
// change locks, and who reads a login can be the node.
func (s *serve) warnOfExposed(log *slog.Logger) {
	if runtime.GOOS == "windows" { // it has no such permissions
		return
	}
	data := s.local.DataDir
	if s.remote.URL != "" || s.local.ConfigFile != "" {
		data = ""
	}
	for _, file := range []struct {
		flag, path string
		refused    fs.FileMode
	}{
		{"data", data, othersWrite},
		{"auth", s.local.AuthFile, othersRead | othersWrite},
		{"nats-config", s.local.ConfigFile, othersWrite},
		{"tenants", s.tenants, othersWrite},
		{"creds", s.creds, othersRead | othersWrite},
		{"nkey", s.nkey, othersRead | othersWrite},
		{"tls-key", s.local.TLS.Key, othersRead | othersWrite},
		{"cluster-tls-key", s.local.ClusterTLS.Key, othersRead | othersWrite},
		{"http-tls-key", s.monitor.httpTLSKey, othersRead | othersWrite},
	} {
		if file.path == "" {
			continue
		}
		info, err := os.Stat(file.path)
		if err != nil { // whoever opens it says so
			continue
		}
		if mode := info.Mode().Perm(); mode&file.refused != 0 {
			log.Warn("a file is open to other users of this host; take their permissions away with chmod o-rwx",
				"flag", "--"+file.flag, "file", file.path, "mode", fmt.Sprintf("%04o", mode))
		}
	}
}
