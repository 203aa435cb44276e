package linear_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

// At the end of a load every resource is asked for, and each question is asked by a client of its own: a client
// that asks for two at once changes its name under the other, and one that has crashed receives no answer.
func TestLastQuestions(t *testing.T) {
	s := startServer(t)
	nc := connect(t, s.URL)
	resources := names("last", 40)
	load, err := linear.StartLoad(t.Context(), linear.LoadConfig{
		Connect:   func(int) (*nats.Conn, error) { return nc, nil },
		Resources: resources, Clients: 8, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	progress(t, load, 50)
	operations := load.Stop().Operations()
	last := operations[len(operations)-len(resources):]
	asked, by := map[string]bool{}, map[int]bool{}
	for _, o := range last {
		if o.Kind != messages.OpGet || o.Status == 0 {
			t.Errorf("it is no question with an answer: %+v", o)
		}
		asked[o.Resource], by[o.Client] = true, true
	}
	if len(asked) != len(resources) || len(by) != len(resources) {
		t.Errorf("%d resources of %d were asked for, by %d clients", len(asked), len(resources), len(by))
	}
}
