package doctor

import (
	"encoding/json"

	"github.com/nats-io/nats.go/jetstream"
)

// accountUse reads how much of its storage an account uses; ok is false if there is no bound.
func accountUse(answer []byte) (used, most uint64, ok bool) {
	var a struct {
		Error *jetstream.APIError `json:"error"`
		jetstream.AccountInfo
	}
	if json.Unmarshal(answer, &a) != nil || a.Error != nil || a.Limits.MaxStore <= 0 {
		return 0, 0, false
	}
	return a.Store, uint64(a.Limits.MaxStore), true
}
