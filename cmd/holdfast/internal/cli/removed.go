package cli

// removed has the flags of earlier versions that are gone, with what to do instead.
var removed = map[string]string{
	"remember":         "a node remembers tokens for 720h; bound how many with --max-remembered",
	"idle-after":       "a node evicts a resource that has been idle for 5s",
	"cluster-tls-cert": removedClusterTLS,
	"cluster-tls-key":  removedClusterTLS,
	"cluster-tls-ca":   removedClusterTLS,
	"http-tls-cert":    removedHTTPTLS,
	"http-tls-key":     removedHTTPTLS,
	"reentrant":        "see whether this owner holds the lock with: holdfast get",
}

const (
	removedClusterTLS = "give the three files as --cluster-tls CERT,KEY,CA"
	removedHTTPTLS    = "give both files as --http-tls CERT,KEY"
)

// Removed returns what to do instead of giving a flag that earlier versions had.
func Removed(flag string) (instead string, is bool) {
	instead, is = removed[flag]
	return instead, is
}
