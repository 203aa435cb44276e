package messages

import (
	"cmp"
	"fmt"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
)

// Check returns the first rule that a request breaks, as an [InvalidError], or nil. For a message that is
// no request it returns another error, because no client can cause it. Nil fields count as empty. The
// resource is in the subject: see [DecodeKey].
func (l *Limits) Check(m proto.Message) error {
	switch r := m.(type) {
	case *AcquireRequest:
		return l.checkAcquire(r)
	case *ReleaseRequest:
		return cmp.Or(l.checkOwner(r.GetOwner()), l.checkToken(0, r.GetToken()), l.checkRequestID(r.GetRequestId()),
			checkSecret(r.GetSecret()))
	case *ExtendRequest:
		return cmp.Or(l.checkOwner(r.GetOwner()), l.checkToken(0, r.GetToken()), l.checkTTL(r.GetTtlMs()),
			checkSecret(r.GetSecret()),
			checkExtendSession(r), checkOrder(r.GetOrder()), checkGrowth(r))
	case *GetRequest:
		return nil // every value is legal
	case *BreakRequest:
		return cmp.Or(l.checkToken(1, r.GetToken()), CheckText("reason", r.GetReason(), 0, MaxReasonBytes))
	case *ConfirmRequest:
		return cmp.Or(l.checkToken(1, r.GetToken()), CheckText("by", r.GetBy(), 0, MaxByBytes),
			CheckText("how", r.GetHow(), 0, MaxReasonBytes))
	case *KeepRequest:
		return l.checkKeep(r)
	case *EndRequest:
		return checkSecret(r.GetSecret())
	case *SetRequest:
		return cmp.Or(l.checkOwner(r.GetOwner()), l.checkToken(0, r.GetToken()), l.checkMetadata(r.GetMetadata()),
			checkSecret(r.GetSecret()), checkOrder(r.GetOrder()))
	case *ListRequest:
		return checkList(r)
	}
	return fmt.Errorf("no rules for a %T", m)
}

func (l *Limits) checkAcquire(r *AcquireRequest) error {
	return cmp.Or(
		l.checkOwner(r.GetOwner()),
		l.checkTTL(r.GetTtlMs()),
		checkRange("wait_ms", uint64(r.GetWaitMs()), 0, uint64(l.GetMaxWaitMs())),
		l.checkRequestID(r.GetRequestId()),
		checkDurability(r.GetDurability()),
		l.checkMetadata(r.GetMetadata()),
		checkPermits(r.GetLimit(), r.GetPermits()),
		l.checkDelay(r),
		checkBlock(r),
		l.checkMinHold(r),
		checkSession(r.GetSession()),
		checkSecretHash(r.GetSecretHash()),
		checkSecret(r.GetSecret()),
	)
}

// checkDelay refuses to hold back after an ephemeral lease: its loss by a move of the shard is not known.
func (l *Limits) checkDelay(r *AcquireRequest) error {
	if err := checkRange("delay_ms", uint64(r.GetDelayMs()), 0, uint64(l.GetMaxDelayMs())); err != nil {
		return err
	}
	if r.GetDurability() == Durability_EPHEMERAL && (r.GetDelayMs() > 0 || r.GetConfirm()) {
		return Invalid("durability", "PERSISTENT, since delay_ms or confirm is set", r.GetDurability().String())
	}
	return nil
}

// checkBlock allows more than one token to a lease that one process alone holds.
func checkBlock(r *AcquireRequest) error {
	if r.GetTokens() <= 1 {
		return nil
	}
	if err := checkRange("tokens", uint64(r.GetTokens()), 0, uint64(MaxBlock)); err != nil {
		return err
	}
	switch {
	case r.GetLimit() > 1:
		return Invalid("limit", "0 or 1 beside tokens: a shared lease has one token", strconv.Itoa(int(r.GetLimit())))
	case r.GetReentrant():
		return Invalid("reentrant", "false beside tokens: a block belongs to one process", "true")
	}
	return nil
}

// checkGrowth leaves what the lease has to its owner.
func checkGrowth(r *ExtendRequest) error {
	if err := checkRange("tokens", uint64(r.GetTokens()), 0, uint64(MaxTokens)); err != nil {
		return err
	}
	if r.GetTokens() > 0 && r.GetLimit() > 0 {
		return Invalid("tokens", "none beside limit: a shared lease has one token", "both")
	}
	return nil
}

// checkMinHold refuses a shortest hold of an ephemeral lease: its end by a move of the shard is not known.
func (l *Limits) checkMinHold(r *AcquireRequest) error {
	if r.GetMinHoldMs() == 0 {
		return nil
	}
	if err := checkRange("min_hold_ms", uint64(r.GetMinHoldMs()), 0, uint64(l.GetMaxDelayMs())); err != nil {
		return err
	}
	switch {
	case r.GetLimit() > 1:
		return Invalid("limit", "0 or 1 beside min_hold_ms: only an exclusive lease has a shortest hold",
			strconv.Itoa(int(r.GetLimit())))
	case r.GetDurability() == Durability_EPHEMERAL:
		return Invalid("durability", "PERSISTENT, since min_hold_ms is set", r.GetDurability().String())
	}
	return nil
}

// checkKeep leaves the subject of a listener to [Prefix.CheckReply].
func (l *Limits) checkKeep(r *KeepRequest) error {
	if err := cmp.Or(l.checkTTL(r.GetTtlMs()), checkSecret(r.GetSecret())); err != nil || r.GetDisconnectMs() == 0 {
		return err
	}
	if r.GetAlive() == "" {
		return Invalid("alive", "a subject on which the client listens, since disconnect_ms is set", "none")
	}
	return checkRange("disconnect_ms", uint64(r.GetDisconnectMs()), uint64(MinDisconnectMillis),
		uint64(MaxDisconnectMillis))
}

func checkSession(id string) error {
	if id == "" {
		return nil
	}
	return CheckText("session", id, MinSessionBytes, MaxSessionBytes)
}

// checkExtendSession refuses a session beside a limit, since a downgraded lease stays in its session.
func checkExtendSession(r *ExtendRequest) error {
	if r.GetSession() != "" && r.GetLimit() > 0 {
		return Invalid("session", "none beside limit: a downgrade leaves the lease in its session", "both")
	}
	return checkSession(r.GetSession())
}

// The errors about secrets do not quote them.

func checkSecretHash(hash []byte) error {
	if n := len(hash); n != 0 && n != SecretHashBytes {
		return Invalid("secret_hash", fmt.Sprintf("the %d bytes of a SHA-256", SecretHashBytes),
			fmt.Sprintf("%d bytes", n))
	}
	return nil
}

func checkSecret(secret []byte) error {
	if n := len(secret); n != 0 && (n < MinSecretBytes || n > MaxSecretBytes) {
		return Invalid("secret", sizeRule(MinSecretBytes, MaxSecretBytes), fmt.Sprintf("%d bytes", n))
	}
	return nil
}

func checkOrder(order uint64) error {
	return checkRange("order", order, 0, MaxOrder)
}

// checkPermits allows every limit, because a limit is what the sender tolerates.
func checkPermits(limit, permits uint32) error {
	switch {
	case permits > MaxPermits:
		return Invalid("permits", fmt.Sprintf("at most %d; acquire more by further requests", MaxPermits),
			strconv.Itoa(int(permits)))
	case permits <= max(limit, 1):
		return nil
	case limit <= 1:
		return Invalid("permits", "at most 1 of an exclusive lease; set limit for a shared one",
			strconv.Itoa(int(permits)))
	default:
		return Invalid("permits", fmt.Sprintf("at most %d, the limit of the same request; take fewer or raise limit",
			limit), strconv.Itoa(int(permits)))
	}
}

func checkList(r *ListRequest) error {
	_, err := ParsePattern(r.GetPattern())
	parse := ParseCursor
	if r.GetTenant() == AllTenants {
		parse = ParseQualifiedCursor
	}
	_, errAfter := parse(r.GetAfter())
	return cmp.Or(err, checkRange("limit", uint64(r.GetLimit()), 0, uint64(MaxListLimit)),
		checkListTenant(r.GetTenant()), errAfter, checkRanking(r))
}

// checkRanking refuses beside a ranking what only a listing in pages has.
func checkRanking(r *ListRequest) error {
	by := r.GetBy()
	switch _, known := Ranking_name[int32(by)]; {
	case !known:
		return Invalid("by", "QUEUE, WAIT or HOLD", strconv.Itoa(int(by)))
	case by == Ranking_UNRANKED:
		return nil
	case r.GetAfter() != "":
		return Invalid("after", "none beside by: a ranking has no further page; raise limit, or leave out by",
			quote(r.GetAfter()))
	case r.GetHeldBack():
		return Invalid("held_back", "false beside by: a ranking is of what waits or is held; leave out one of them",
			"true")
	}
	return nil
}

func checkListTenant(tenant string) error {
	if tenant == "" || tenant == AllTenants {
		return nil
	}
	return CheckTenant(tenant)
}

func (l *Limits) checkOwner(owner string) error {
	return CheckText("owner", owner, 1, l.GetMaxOwnerBytes())
}

func (l *Limits) checkRequestID(id string) error {
	return CheckText("request_id", id, 0, l.GetMaxRequestIdBytes())
}

func (l *Limits) checkToken(minimum, token uint64) error {
	return checkRange("token", token, minimum, l.GetMaxToken())
}

func (l *Limits) checkTTL(ttl uint32) error {
	return checkRange("ttl_ms", uint64(ttl), uint64(l.GetMinTtlMs()), uint64(l.GetMaxTtlMs()))
}

// checkMetadata allows control characters in values and not in keys, because keys become column heads and
// labels.
func (l *Limits) checkMetadata(metadata map[string]string) error {
	if len(metadata) > int(l.GetMaxMetadataEntries()) {
		return Invalid("metadata", fmt.Sprintf("at most %d entries", l.GetMaxMetadataEntries()),
			fmt.Sprintf("%d entries", len(metadata)))
	}
	size := 0
	for key, value := range metadata {
		size += len(key) + len(value)
	}
	if size > int(l.GetMaxMetadataBytes()) {
		return Invalid("metadata", sizeRule(0, uint64(l.GetMaxMetadataBytes()))+" together",
			fmt.Sprintf("%d bytes", size))
	}
	for key, value := range metadata {
		if err := checkEntry(key, value, l.GetMaxMetadataBytes()); err != nil {
			return err
		}
	}
	return nil
}

func checkEntry(key, value string, maximum uint32) error {
	if err := CheckText("metadata key", key, 1, maximum); err != nil {
		return err
	}
	if !utf8.ValidString(value) {
		return Invalid("metadata value of "+quote(key), "UTF-8", quote(value))
	}
	return nil
}

func checkDurability(d Durability) error {
	if _, known := Durability_name[int32(d)]; !known {
		return Invalid("durability", "PERSISTENT or EPHEMERAL", strconv.Itoa(int(d)))
	}
	return nil
}

// CheckText returns an [InvalidError] unless s is UTF-8 without control characters, of minimum to maximum bytes. The
// error names the field.
func CheckText(field, s string, minimum, maximum uint32) error {
	if len(s) < int(minimum) || len(s) > int(maximum) {
		return Invalid(field, sizeRule(uint64(minimum), uint64(maximum)), byteCount(s))
	}
	if !isText(s) {
		return Invalid(field, textRule, quote(s))
	}
	return nil
}

func checkRange(field string, n, minimum, maximum uint64) error {
	if n < minimum || n > maximum {
		return Invalid(field, rangeRule(minimum, maximum), strconv.FormatUint(n, 10))
	}
	return nil
}
