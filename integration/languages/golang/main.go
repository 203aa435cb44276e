// The load of the Go client; doc.go of the folder above says what its arguments and its output are.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("arguments: pairs|hold|loss URL NUMBER SECONDS")
	}
	number, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseFloat(args[3], 64)
	if err != nil {
		return err
	}
	nc, err := nats.Connect(args[1])
	if err != nil {
		return err
	}
	defer nc.Close()
	client, err := holdfast.New(nc)
	if err != nil {
		return err
	}
	duration := time.Duration(seconds * float64(time.Second))
	var figures map[string]float64
	switch args[0] {
	case "pairs":
		figures, err = pairs(ctx, client, number, duration)
	case "hold":
		figures, err = hold(ctx, client, number, duration)
	case "loss":
		figures, err = loss(ctx, client, nc, number)
	default:
		err = fmt.Errorf("no such load: %s", args[0])
	}
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(figures); err != nil {
		return err
	}
	return client.Close(ctx)
}

// pairs has so many goroutines lock and unlock, each a resource of its own.
func pairs(ctx context.Context, client *holdfast.Client, goroutines int, duration time.Duration) (map[string]float64,
	error) {
	var mu sync.Mutex
	var all []time.Duration
	var failure error
	var running sync.WaitGroup
	cpu, err := used()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	for i := range goroutines {
		running.Go(func() {
			var took []time.Duration
			var err error
			for since := time.Now(); err == nil && since.Sub(begun) < duration; {
				var l *holdfast.Lock
				if l, err = client.Acquire(ctx, fmt.Sprint("pairs.go.", i)); err == nil {
					err = l.Release(ctx)
				}
				now := time.Now()
				took = append(took, now.Sub(since))
				since = now
			}
			mu.Lock()
			defer mu.Unlock()
			all, failure = append(all, took...), errors.Join(failure, err)
		})
	}
	running.Wait()
	lasted := time.Since(begun).Seconds()
	after, err := used()
	figures := percentiles(all)
	figures["rate"] = float64(len(all)) / lasted
	figures["cpu_us"] = float64((after - cpu).Microseconds()) / float64(len(all))
	return figures, errors.Join(failure, err)
}

// hold has the client hold so many locks, and measures when each has been renewed.
func hold(ctx context.Context, client *holdfast.Client, locks int, duration time.Duration) (map[string]float64, error) {
	held := make([]*holdfast.Lock, locks)
	for i := range held {
		var err error
		if held[i], err = client.Acquire(ctx, fmt.Sprint("hold.go.", i)); err != nil {
			return nil, err
		}
	}
	<-time.After(holdfast.DefaultTTL)
	cpu, err := used()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	<-time.After(duration)
	after, err := used()
	if err != nil {
		return nil, err
	}
	figures := map[string]float64{"core_percent": 100 * (after - cpu).Seconds() / time.Since(begun).Seconds()}
	for _, l := range held {
		if !l.Valid() {
			return nil, fmt.Errorf("%v is lost", l)
		}
	}
	return figures, nil
}

// loss breaks so many locks, one after the other, and measures the time from the answer to the signal.
func loss(ctx context.Context, client *holdfast.Client, nc *nats.Conn, losses int) (map[string]float64, error) {
	var took []time.Duration
	for i := range losses {
		name := fmt.Sprint("loss.go.", i)
		l, err := client.Acquire(ctx, name)
		if err != nil {
			return nil, err
		}
		<-time.After(time.Second) // by then the client receives events
		if _, err := nc.Request("holdfast.break."+name, fmt.Appendf(nil, `{"token":"%d"}`, l.Token()), 5*time.Second); err != nil {
			return nil, err
		}
		broken := time.Now()
		<-l.Context().Done()
		took = append(took, time.Since(broken))
	}
	return percentiles(took), nil
}

func percentiles(all []time.Duration) map[string]float64 {
	slices.Sort(all)
	at := func(part float64) float64 {
		return float64(all[min(int(part*float64(len(all))), len(all)-1)].Microseconds())
	}
	return map[string]float64{"p50_us": at(0.5), "p99_us": at(0.99)}
}

// used is the processor time of this process.
func used() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
