package embedded

import "errors"

// Errors of [Start], [Server.AwaitQuorum] and [Server.Fault]. The error that wraps one says what to do.
var (
	// ErrDataDir says that the data directory cannot be used.
	ErrDataDir = errors.New("the data directory cannot be used")
	// ErrListen says that the server cannot listen, or should not listen, at the configured address.
	ErrListen = errors.New("the listen address cannot be used")
	// ErrConfig says that the settings contradict each other or are not safe.
	ErrConfig = errors.New("the settings cannot be used")
	// ErrCertificate says that a certificate is not valid at this time, so that the same settings may work later.
	ErrCertificate = errors.New("a certificate is not valid at this time")
	// ErrRoutes says that names of members cannot be resolved.
	ErrRoutes = errors.New("the names of --routes or --cluster-listen cannot be resolved")
	// ErrNoQuorum says that too few members of the cluster are reachable to elect a leader.
	ErrNoQuorum = errors.New("the cluster has no quorum")
	// ErrStore says that the server cannot store on its disk at present.
	ErrStore = errors.New("the NATS server in this process does not store")
)
