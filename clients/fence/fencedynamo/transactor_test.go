package fencedynamo_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// transactor gives dynalite the two things of DynamoDB that it lacks: TransactWriteItems, each once by
// its request token, and the item in the answer to a failed condition. Expressions are dynalite's business in both:
// each action of a transaction is sent there by itself, with its condition as it is, and undone if another one fails.
//
// It is atomic for its own clients, one after another; a crash of dynalite in the middle of a
// transaction would tear it. So it stands for how DynamoDB answers, and not for how it recovers.
type transactor struct {
	mu      sync.Mutex
	backend string
	done    map[any]bool // transactions, by their request token
}

func startTransactor(backend string) *httptest.Server {
	return httptest.NewServer(&transactor{backend: "http://" + backend, done: map[any]bool{}})
}

const (
	target     = "X-Amz-Target"
	version    = "DynamoDB_20120810."
	errorType  = "com.amazonaws.dynamodb.v20120810#"
	failedType = errorType + "ConditionalCheckFailedException"
)

type (
	object map[string]any
	answer struct {
		status int
		body   object
	}
)

func (a answer) failed() bool { return a.body["__type"] == failedType }

func (t *transactor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var in object
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var out answer
	var err error
	if operation := strings.TrimPrefix(r.Header.Get(target), version); operation == "TransactWriteItems" {
		out, err = t.transact(r.Header, in)
	} else {
		out, err = t.single(r.Header, operation, in)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(out.status)
	_ = json.NewEncoder(w).Encode(out.body)
}

// transact does all actions or none.
func (t *transactor) transact(h http.Header, in object) (answer, error) {
	id := in["ClientRequestToken"]
	if t.done[id] {
		return answer{http.StatusOK, object{}}, nil
	}
	actions, _ := in["TransactItems"].([]any)
	reasons, codes, undo := make([]object, len(actions)), make([]string, len(actions)), []func() error{}
	cancelled := false
	for i, a := range actions {
		for kind, input := range a.(map[string]any) {
			out, revert, err := t.act(h, kind, input.(map[string]any))
			if err != nil {
				return answer{}, err
			}
			codes[i], reasons[i] = "None", object{"Code": "None"}
			switch {
			case out.failed():
				cancelled, codes[i] = true, "ConditionalCheckFailed"
				reasons[i] = object{"Code": codes[i], "Message": out.body["message"], "Item": out.body["Item"]}
			case out.status != http.StatusOK:
				return out, rollback(undo)
			default:
				undo = append(undo, revert)
			}
		}
	}
	if !cancelled {
		t.done[id] = id != nil
		return answer{http.StatusOK, object{}}, nil
	}
	return answer{http.StatusBadRequest, object{
		"__type": errorType + "TransactionCanceledException",
		"Message": fmt.Sprintf(
			"Transaction cancelled, please refer cancellation reasons for specific reasons [%s]",
			strings.Join(codes, ", ")),
		"CancellationReasons": reasons,
	}}, rollback(undo)
}

// act does one action, and returns what undoes it.
func (t *transactor) act(h http.Header, kind string, in object) (answer, func() error, error) {
	operation := map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem",
		"ConditionCheck": "UpdateItem"}[kind]
	table, key := in["TableName"], keyOf(in)
	before, err := t.send(h, "GetItem", object{"TableName": table, "Key": key, "ConsistentRead": true})
	if err != nil || before.status != http.StatusOK {
		return before, nil, err
	}
	revert := func() error {
		if item, ok := before.body["Item"]; ok {
			return t.must(h, "PutItem", object{"TableName": table, "Item": item})
		}
		return t.must(h, "DeleteItem", object{"TableName": table, "Key": key})
	}
	out, err := t.single(h, operation, in)
	if kind == "ConditionCheck" && err == nil && out.status == http.StatusOK {
		return out, func() error { return nil }, revert()
	}
	return out, revert, err
}

// single does one operation, and adds the item to a failed condition if it was asked for.
func (t *transactor) single(h http.Header, operation string, in object) (answer, error) {
	shown := in["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"
	delete(in, "ReturnValuesOnConditionCheckFailure")
	out, err := t.send(h, operation, in)
	if err != nil || !shown || !out.failed() {
		return out, err
	}
	found, err := t.send(h, "GetItem", object{"TableName": in["TableName"], "Key": keyOf(in), "ConsistentRead": true})
	if item, ok := found.body["Item"]; ok {
		out.body["Item"] = item
	}
	return out, err
}

// send passes an operation to dynalite.
func (t *transactor) send(h http.Header, operation string, in object) (answer, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return answer{}, err
	}
	r, err := http.NewRequest(http.MethodPost, t.backend, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header = h.Clone()
	r.Header.Del("Accept-Encoding")
	r.Header.Set(target, version+operation)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	out := answer{status: resp.StatusCode}
	return out, json.Unmarshal(text, &out.body)
}

func (t *transactor) must(h http.Header, operation string, in object) error {
	out, err := t.send(h, operation, in)
	if err == nil && out.status != http.StatusOK {
		err = fmt.Errorf("%s: %v", operation, out.body)
	}
	return err
}

func rollback(undo []func() error) error {
	for _, revert := range undo {
		if err := revert(); err != nil {
			return err
		}
	}
	return nil
}

// keyOf returns the key of an input; that of a put is the attribute "id" of all tables here.
func keyOf(in object) any {
	if item, ok := in["Item"].(map[string]any); ok {
		return object{"id": item["id"]}
	}
	return in["Key"]
}
