package embedded

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
)

// startHelper lets the only member of a cluster elect itself, and returns nil for other servers. NATS holds no
// election before it has seen another server, so a helper server without storage connects to it until
// [Server.AwaitQuorum] stops it.
func startHelper(opts *server.Options) (*server.Server, error) {
	peers, err := os.ReadFile(filepath.Join(metaDir(opts), peersFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, dataDirError(opts.StoreDir, err)
	}
	if !bytes.Equal(peers, onlyPeer(opts.ServerName)) {
		return nil, nil
	}
	host := opts.Cluster.Host
	if isWildcard(host) {
		host = "127.0.0.1"
	}
	helper := storelessOptions(opts.ServerName+"-helper", opts.Cluster.Name, routeTo(host, opts.Cluster.Port))
	helper.Cluster.TLSConfig = ownTLS(opts.Cluster.TLSConfig)
	return run(helper, newServerLogger(slog.New(slog.DiscardHandler)))
}
