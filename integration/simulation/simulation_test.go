package simulation

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/linear"
)

var (
	seed   = flag.Uint64("seed", 0, "the seed of the first trial; 0: the first")
	trials = flag.Int("trials", 20, "how many trials there are")
	trace  = flag.String("trace", "", "a file for the trace of the trials")
)

func TestTrials(t *testing.T) {
	var virtual, real time.Duration
	operations := 0
	for i := range uint64(*trials) {
		t.Run(fmt.Sprint(*seed+i), func(t *testing.T) {
			x := NewTrial(*seed + i)
			if testing.Verbose() && *trials == 1 {
				x.Log = t.Output()
			}
			if *trace != "" {
				f, err := os.Create(*trace)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				x.Trace = f
			}
			o, err := x.Run(t)
			if err != nil {
				t.Fatal(err)
			}
			virtual, real = virtual+o.Virtual, real+o.Real
			began := time.Now()
			report, err := linear.Check(t.Context(), o.History, o.Journal, nil, linear.Terms{})
			if err != nil {
				t.Errorf("%v\n%v", err, o.Faults)
			}
			operations += report.Operations
			t.Log(x.Nodes, x.Servers, x.Clients, x.Replicas, o.Trace, o.Virtual, o.Real, time.Since(began), o.Deliveries, report.Operations)
		})
	}
	t.Log(virtual, real, operations)
}
