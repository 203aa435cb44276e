package embedded

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/conf"
	"github.com/nats-io/nats-server/v2/server"
)

// authKeys are the keys of a NATS configuration that say who may log in.
var authKeys = []string{
	"authorization", "accounts", "no_auth_user", "default_sentinel",
	"system_account", "system", "no_system_account", "no_system", "no_sys_acc",
	"operator", "operators", "root", "roots", "root_operator", "root_operators", "trusted", "trusted_keys",
	"resolver", "account_resolver", "accounts_resolver", "resolver_preload", "resolver_tls", "resolver_pinned_accounts",
}

// flagOf has the flags for what an AuthFile may not contain.
var flagOf = map[string]string{
	"listen": "--listen", "port": "--listen", "host": "--listen", "net": "--listen",
	"tls": "--tls-cert, --tls-key, --tls-ca and --tls-verify", "cluster": "--cluster-listen and --routes",
	"server_name": "--name",
	"jetstream":   "--data", "store_dir": "--data", "storedir": "--data",
	"max_connections": "--max-connections", "max_conn": "--max-connections",
	"max_subscriptions": "--max-subscriptions", "max_subs": "--max-subscriptions",
}

// readAuth reads a file that has nothing but logins.
func readAuth(path string) (*server.Options, error) {
	keys, err := conf.ParseFileWithChecks(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
	for key, value := range keys {
		variable, ok := value.(interface{ IsUsedVariable() bool })
		if slices.Contains(authKeys, strings.ToLower(key)) || ok && variable.IsUsedVariable() {
			continue
		}
		if flag, ok := flagOf[strings.ToLower(key)]; ok {
			return nil, fmt.Errorf("%w: %s has %s; a file with logins has none, give %s instead", ErrConfig, path, key,
				flag)
		}
		return nil,
			fmt.Errorf("%w: %s has %s, which is no login; a file with all settings of NATS is for --nats-config",
				ErrConfig, path, key)
	}
	opts := &server.Options{}
	if err := opts.ProcessConfigFile(path); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
	return opts, nil
}

// isOpen returns how a client connects without a login, empty if it cannot.
func isOpen(opts *server.Options) string {
	switch {
	case opts.NoAuthUser != "": // mutant: OpenByNoAuthUser
		return "no_auth_user lets clients in without a login"
	case opts.DefaultSentinel != "":
		return "default_sentinel lets clients in without a login"
	case len(opts.TrustedKeys) > 0, len(opts.TrustedOperators) > 0, opts.Users != nil, opts.Nkeys != nil,
		opts.Username != "", opts.Authorization != "":
		return ""
	}
	return "no login is required"
}
