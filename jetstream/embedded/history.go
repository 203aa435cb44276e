package embedded

import (
	"fmt"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
)

// checkHistory refuses data that does not fit the mode of the server. A cluster deletes the streams of a
// server that was alone, because it has no record of them, and a member that runs alone would grant locks that
// the others have granted.
func checkHistory(opts *server.Options) error {
	store := filepath.Join(opts.StoreDir, server.JetStreamStoreDir)
	member, err := holdsAny(store, anyEntry, "_js_", "_meta_")
	if err != nil {
		return err
	}
	streams, err := holdsAny(store, anyEntry, "streams", anyEntry)
	if err != nil {
		return err
	}
	joins := opts.Cluster.Port != 0
	switch {
	case joins && !member && streams:
		return fmt.Errorf("%w: %s holds the locks of a server that was alone, and a cluster would delete them; "+
			"start it without --cluster-listen as before, or move the locks into a cluster with another directory, "+
			"by holdfast backup and holdfast restore, "+
			"which docs/backup.md shows; without them the cluster would count all tokens from 1 again, and guards would "+
			"refuse its holders", ErrDataDir, opts.StoreDir)
	case !joins && member:
		return fmt.Errorf(
			"%w: %s belongs to a member of a cluster, and alone it would grant locks that the others have granted; "+
				"start it with --cluster-listen and --routes as before, or with another directory", ErrDataDir,
			opts.StoreDir)
	}
	return nil
}

// checkAccount tries the login of this process, before the server waits for other members, and refuses data of another
// account: the deployment would be created again beside it, and count all tokens from 1.
func (c Config) checkAccount(dir string) error {
	account := server.DEFAULT_GLOBAL_ACCOUNT
	if c.AuthFile != "" {
		opts, err := c.options()
		if err != nil {
			return err
		}
		if account, err = tryLogin(opts, c.Login); err != nil {
			return err
		}
	}
	if c.Stream == "" {
		return nil
	}
	store := filepath.Join(dir, server.JetStreamStoreDir)
	own, err := holdsAny(store, account, "streams", c.Stream)
	if err != nil || own {
		return err
	}
	other, err := holdsAny(store, anyEntry, "streams", c.Stream)
	if err == nil && other {
		err = fmt.Errorf(
			"%w: %s holds the locks of another account than %s, that of this node's login; "+
				"log in to the account as before, "+
				"or move the locks by holdfast backup and holdfast restore", ErrDataDir, dir, account)
	}
	return err
}
