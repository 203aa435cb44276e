package messages

// The features of a deployment, as [Info] names them: what it offers beyond the first version of the contract.
const (
	// FeatureBatch: many requests in one message.
	FeatureBatch = "batch"
	// FeatureSharing: leases that several hold at once.
	FeatureSharing = "sharing"
	// FeatureDelay: resources that are held back after a loss.
	FeatureDelay = "delay"
	// FeatureSessions: one renewal for many leases.
	FeatureSessions = "sessions"
	// FeatureValues: metadata that the holder replaces.
	FeatureValues = "values"
	// FeatureSecrets: leases that only the one who acquired them may change.
	FeatureSecrets = "secrets"
	// FeatureIdentity: the owner of a lease is who NATS says that its sender is.
	FeatureIdentity = "identity"
	// FeatureTenants: accounts with resources of their own.
	FeatureTenants = "tenants"
	// FeatureOrder: a late extend or set does not undo a later one.
	FeatureOrder = "order"
	// FeatureKeepSecret: a keep may carry the secret of its session.
	FeatureKeepSecret = "keep_secret"
	// FeatureTokens: leases with more than one token.
	FeatureTokens = "tokens"
	// FeatureNotices: holders learn that others wait.
	FeatureNotices = "notices"
	// FeatureMinHold: nothing is granted before a lease has been held for a time.
	FeatureMinHold = "min_hold"
	// FeatureReshard: the number of shards may change.
	FeatureReshard = "reshard"
	// FeatureRanking: listings by what waits and what is held longest.
	FeatureRanking = "ranking"
)

// Features are those that each deployment of this version offers. [FeatureBatch] is beside them, because clients in
// other accounts do not have it, and so are those that an operator turns on.
var Features = []string{
	FeatureSharing, FeatureDelay, FeatureSessions, FeatureValues, FeatureSecrets, FeatureOrder, FeatureKeepSecret,
}

// FeaturesOfAll are those that a deployment offers while all of its nodes do. A node of this version offers them.
var FeaturesOfAll = []string{FeatureTokens, FeatureNotices, FeatureMinHold, FeatureReshard, FeatureRanking}
