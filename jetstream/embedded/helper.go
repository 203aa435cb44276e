package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// startHelper lets the only member of a cluster elect itself. NATS holds no election before it has seen another
// server, so a helper server without storage connects to it until [Server.AwaitQuorum] stops it.
func (n *instance) startHelper() (err error) {
	only, err := isOnlyMember(n.opts)
	if only {
		n.helper, err = newHelper(n.opts)
	}
	return err
}

// stopHelper stops the helper. It may be called more than once.
func (n *instance) stopHelper() {
	if n.helper != nil {
		n.helper.Shutdown()
		n.helper.WaitForShutdown()
	}
}

// isOnlyMember reports whether the server is the only member of its cluster.
func isOnlyMember(opts *server.Options) (bool, error) {
	file, err := os.ReadFile(filepath.Join(metaDir(opts), peersFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, dataDirError(opts.StoreDir, err)
	}
	return bytes.Equal(file, onlyPeer(opts.ServerName)), nil
}

// newHelper starts a server without storage that connects to the only member of a cluster.
func newHelper(opts *server.Options) (*server.Server, error) {
	host := opts.Cluster.Host
	if isWildcard(host) {
		host = "127.0.0.1"
	}
	helper, err := server.NewServer(storelessOptions(opts.ServerName+"-helper", opts.Cluster.Name,
		[]*url.URL{{Scheme: "nats-route", Host: net.JoinHostPort(host, strconv.Itoa(opts.Cluster.Port))}}))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	helper.Start()
	return helper, nil
}
