package fencedynamo_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencedynamo"
)

// Answers of DynamoDB that no local server gives, in the words of its API reference. The tests
// check the errors that the guard makes of them, through the SDK.
const (
	conflictAnswer = `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException",
		"message":"Transaction is ongoing for the item"}`
	cancelledAnswer = `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
		"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [TransactionConflict]",
		"CancellationReasons":[{"Code":"TransactionConflict","Message":"Transaction is ongoing for the item"}]}`
	throttledAnswer = `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
		"message":"The level of configured provisioned throughput for the table was exceeded"}`
	brokenAnswer = `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"}`
)

// answering is a server that gives the same answer each time, and counts.
func answering(t *testing.T, status int, body string) (addr string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), asked
}

func TestConflict(t *testing.T) {
	addr, _ := answering(t, http.StatusBadRequest, conflictAnswer)
	err := failure(mustGuard(t, connect(addr)).Update(t.Context(), fence.Claim{Resource: "a", Token: 33},
		update("t", "a", "x")))
	wantConflict[*types.TransactionConflictException](t, err)

	addr, _ = answering(t, http.StatusBadRequest, cancelledAnswer)
	err = failure(mustMarks(t, connect(addr), "m").Transact(t.Context(), fence.Claim{Resource: "a", Token: 33},
		transaction()))
	wantConflict[*types.TransactionCanceledException](t, err)
}

func wantConflict[Cause error](t *testing.T, err error) {
	t.Helper()
	if _, ok := errors.AsType[Cause](err); !ok || !errors.Is(err, fencedynamo.ErrConflict) ||
		errors.Is(err, fence.ErrStale) {
		t.Errorf("%v, want ErrConflict with its cause", err)
	}
}

// The SDK repeats what was throttled, and nothing whose outcome is unknown.
func TestRepetition(t *testing.T) {
	for name, test := range map[string]struct {
		status  int
		body    string
		repeats bool
	}{
		"Throttled": {http.StatusBadRequest, throttledAnswer, true},
		"Broken":    {http.StatusInternalServerError, brokenAnswer, false},
	} {
		t.Run(name, func(t *testing.T) {
			addr, asked := answering(t, test.status, test.body)
			client := dynamodb.New(connect(addr).Options(), func(o *dynamodb.Options) {
				o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond })
			})
			err := failure(mustGuard(t, client).Update(t.Context(), fence.Claim{Resource: "a", Token: 33},
				update("t", "a", "x")))
			if err == nil || errors.Is(err, fence.ErrStale) || errors.Is(err, fencedynamo.ErrConflict) {
				t.Errorf("%v, want the error of the store", err)
			}
			if got := asked.Load() > 1; got != test.repeats {
				t.Errorf("sent %d times", asked.Load())
			}
		})
	}
}

// A condition has failed, and the store says no more: then the error says that the reason is unknown.
func TestUnreadableMark(t *testing.T) {
	addr, _ := answering(t, http.StatusBadRequest,
		`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"}`)
	err := failure(mustGuard(t, connect(addr)).Update(t.Context(), fence.Claim{Resource: "a", Token: 33},
		update("t", "a", "x")))
	wantConditionFailed(t, err)
	if !strings.Contains(err.Error(), "unknown") {
		t.Errorf("%v, want one that says what is unknown", err)
	}
}
