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
	// subjectHealth is where every server tells of its health.
	subjectHealth = "$SYS.REQ.SERVER.PING.HEALTHZ"
	// healthTimeout bounds the wait for all members' answers. One that is away gives none.
	healthTimeout = time.Second
)

// detailed asks for every error and not for the first alone.
var detailed = []byte(`{"details":true}`)

// enterFaults enters what keeps members from storing.
func (v *Session) enterFaults(ctx context.Context, c *Report) error {
	system := v.link.SystemConn()
	inbox := system.NewInbox()
	answers, err := system.SubscribeSync(inbox)
	if err == nil {
		defer func() { _ = answers.Unsubscribe() }()
		err = system.PublishRequest(subjectHealth, inbox, detailed)
	}
	if err != nil {
		return fmt.Errorf("ask the members for their health: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	for waiting := v.link.Neighbours(); len(waiting) > 0; {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return nil // What the others have said counts.
		}
		name, fault := readHealth(m)
		waiting = slices.DeleteFunc(waiting, func(n string) bool { return n == name })
		if m := c.find(name); m != nil {
			m.Fault = fault
		}
	}
	return nil
}

// readHealth returns who answers and what keeps it from storing, empty for nothing.
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

// storageFault picks out of a server's health what does not pass by itself, as a copy that lags does.
func storageFault(h *health) string {
	for _, e := range h.Errors {
		if strings.Contains(e.Error, "write error") || strings.Contains(e.Error, "not enabled") {
			return e.Error
		}
	}
	return ""
}
