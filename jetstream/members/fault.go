package members

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// subjectHealth is answered by every server with its health.
	subjectHealth = "$SYS.REQ.SERVER.PING.HEALTHZ"
	// healthTimeout bounds the wait for all members' answers. A member that is away gives none.
	healthTimeout = time.Second
)

// withDetails requests every error instead of the first one only.
var withDetails = []byte(`{"details":true}`)

// addFaults adds the fault of each member that answers.
func (s *Session) addFaults(ctx context.Context, r *Report) error {
	system := s.link.SystemConn()
	inbox := system.NewInbox()
	answers, err := system.SubscribeSync(inbox)
	if err == nil {
		defer func() { _ = answers.Unsubscribe() }()
		err = system.PublishRequest(subjectHealth, inbox, withDetails)
	}
	if err != nil {
		return fmt.Errorf("ask the members for their health: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	for waiting := s.link.Neighbours(); len(waiting) > 0; {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return nil // the answers so far count
		}
		name, fault := readHealth(m)
		waiting = slices.DeleteFunc(waiting, func(n string) bool { return n == name })
		if m := r.find(name); m != nil {
			m.Fault = fault
		}
	}
	return nil
}

// readHealth returns the name of the member and why it cannot store, empty if it can.
func readHealth(m *nats.Msg) (name, fault string) {
	var answer struct {
		Server *struct {
			Name string `json:"name"`
		} `json:"server"`
		Data *health `json:"data"`
	}
	if json.Unmarshal(m.Data, &answer) != nil || answer.Server == nil || answer.Data == nil {
		return "", ""
	}
	return answer.Server.Name, storageFault(answer.Data)
}

// health is what a member answers about its health.
type health struct {
	Errors []healthError `json:"errors"`
}

type healthError struct {
	Error string `json:"error"`
}

// storageFault returns the first error that does not pass by itself, as the lag of a replica does.
func storageFault(h *health) string {
	for _, e := range h.Errors {
		if strings.Contains(e.Error, "write error") || strings.Contains(e.Error, "not enabled") {
			return e.Error
		}
	}
	return ""
}
