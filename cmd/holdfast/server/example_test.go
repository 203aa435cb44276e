package server_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/health"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// A program runs a node beside what it does, over its connection to NATS.
func Example() {
	url, end, err := startNATS()
	if err != nil {
		log.Fatal(err)
	}
	defer end()
	nc, err := nats.Connect(url)
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)

	var cfg server.Config
	cfg.Name, cfg.NATS, cfg.Health = "shop-1", &nc.Opts, health.New()
	http.Handle("GET /readyz", cfg.Health.Ready())
	node, err := server.Start(ctx, cfg) // returns when it serves requests
	if err != nil {
		log.Fatal(err)
	}
	go func() { ended <- node.Wait(ctx) }() // until ctx ends

	client, err := holdfast.New(nc)
	if err != nil {
		log.Fatal(err)
	}
	lock, err := client.Acquire(ctx, "order:42")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("token", lock.Token())
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}

	stop()
	fmt.Println("the node:", <-ended)
	fmt.Println("the program's connection:", nc.Status())
	// Output:
	// token 000000000000001
	// the node: <nil>
	// the program's connection: CONNECTED
}

// startNATS starts a NATS server with JetStream, as others run one.
func startNATS() (url string, end func(), err error) {
	dir, err := os.MkdirTemp("", "holdfast-example")
	if err != nil {
		return "", nil, err
	}
	s, err := embedded.Start(embedded.Config{Name: "nats", Listen: "127.0.0.1:-1", DataDir: dir})
	if err != nil {
		return "", nil, err
	}
	return s.ClientURL(), func() {
		s.Shutdown()
		_ = os.RemoveAll(dir) // of a temporary directory
	}, nil
}
