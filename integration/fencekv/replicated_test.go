package fencekv_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// TestReplicated lets rivals on three servers write one entry of a bucket with three replicas, each of
// which answers reads with what it has. No rival overwrites a higher token's value, and the highest
// token stands at the end.
func TestReplicated(t *testing.T) {
	const rivals, writes, tokens = 8, 20, 30
	cluster := mustCluster(t)
	kv := mustReplicate(t, cluster[0], jetstream.KeyValueConfig{Bucket: "orders", Replicas: 3,
		History: jetstream.KeyValueMaxHistory})
	watcher, err := kv.Watch(t.Context(), "orders.42", jetstream.IncludeHistory())
	if err != nil {
		t.Fatal(err)
	}

	var writing sync.WaitGroup
	for i, dice := range stand.Dice(t, rivals) {
		b := mustGuard(t, cluster[i%len(cluster)], "orders")
		writing.Go(func() {
			for range writes {
				c := claim(1 + fence.Token(dice.IntN(tokens)))
				if _, err := b.Put(t.Context(), c, []byte(c.Token.String())); err != nil && !errors.Is(err, fence.ErrStale) {
					t.Errorf("token %d: %v", c.Token, err)
				}
			}
		})
	}
	writing.Wait()
	last := claim(tokens + 1)
	mustPut(t, mustGuard(t, cluster[1], "orders"), last, last.Token.String())

	var highest string
	for highest != last.Token.String() {
		e := mustNext(t, watcher)
		if e == nil {
			continue // the end of what there was at first
		}
		if value := string(e.Value()); value < highest {
			t.Fatalf("revision %d is of token %s, after %s", e.Revision(), value, highest)
		}
		highest = string(e.Value())
	}
}

func mustNext(tb testing.TB, w jetstream.KeyWatcher) jetstream.KeyValueEntry {
	tb.Helper()
	select {
	case e := <-w.Updates():
		return e
	case <-time.After(patience):
		tb.Fatal("the watcher does not see the last write")
		return nil
	}
}

// mustCluster returns a connection to each of three servers.
func mustCluster(tb testing.TB) []jetstream.JetStream {
	tb.Helper()
	routes := porttest.Free(tb, 3)
	var cluster []jetstream.JetStream
	for i, route := range routes {
		s := stand.StartNATS(tb, embedded.Config{Name: fmt.Sprint("n", i), ClusterListen: route, Routes: routes})
		cluster = append(cluster, mustJetStream(tb, s.Connect(tb)))
	}
	return cluster
}

// mustReplicate makes a bucket as soon as the cluster has a leader.
func mustReplicate(tb testing.TB, js jetstream.JetStream, cfg jetstream.KeyValueConfig) jetstream.KeyValue {
	tb.Helper()
	var kv jetstream.KeyValue
	stand.Eventually(tb, "there is a bucket", func() bool {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		defer cancel()
		var err error
		kv, err = js.CreateOrUpdateKeyValue(ctx, cfg)
		return err == nil
	})
	return kv
}
