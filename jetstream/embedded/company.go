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

// keepCompany lets the one member of a cluster elect itself: NATS does not begin to before it has seen
// another server. [Server.AwaitQuorum] ends it.
func (n *instance) keepCompany() (err error) {
	alone, err := isAlone(n.opts)
	if alone {
		n.company, err = newCompany(n.opts)
	}
	return err
}

// endCompany may be called more than once.
func (n *instance) endCompany() {
	if n.company != nil {
		n.company.Shutdown()
		n.company.WaitForShutdown()
	}
}

// isAlone tells whether the server is the one member of its cluster.
func isAlone(opts *server.Options) (bool, error) {
	file, err := os.ReadFile(filepath.Join(metaDir(opts), peersFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, dataDirError(opts.StoreDir, err)
	}
	return bytes.Equal(file, onlyPeer(opts.ServerName)), nil
}

// newCompany connects a server that keeps nothing to the one member of a cluster.
func newCompany(opts *server.Options) (*server.Server, error) {
	host := opts.Cluster.Host
	if isWildcard(host) {
		host = "127.0.0.1"
	}
	company, err := server.NewServer(bystander(opts.ServerName+"-company", opts.Cluster.Name,
		[]*url.URL{{Scheme: "nats-route", Host: net.JoinHostPort(host, strconv.Itoa(opts.Cluster.Port))}}))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	company.Start()
	return company, nil
}
