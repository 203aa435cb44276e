package fencenats_test

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencekv"
	"github.com/holdfast-io/holdfast/clients/fence/fencenats"
)

// The service writes to a guarded bucket, whose marks its own guard shares. The holder with token 33 is
// paused until the lock is granted again, with token 34; then it wakes up, and does not know.
func Example() {
	nc, err := nats.Connect(url)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nc.Close()
	ctx := context.Background()
	orders, err := openOrders(ctx, nc)
	if err != nil {
		fmt.Println(err)
		return
	}

	guard := fencenats.New(orders)
	put := guard.Handler(ctx, func(ctx context.Context, r micro.Request) {
		c, _ := fence.FromContext(ctx)
		if _, err := orders.Put(ctx, c, r.Data()); err != nil {
			_ = fencenats.Error(r, err) // the sender asked for no answer
			return
		}
		_ = r.Respond([]byte("stored"))
	})
	service, err := micro.AddService(nc, micro.Config{Name: "orders", Version: "1.0.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := service.AddEndpoint("put", put, micro.WithEndpointSubject("orders.put")); err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(send(nc, fence.Claim{Resource: "orders.42", Token: 34}, "shipped"))
	fmt.Println(send(nc, fence.Claim{Resource: "orders.42", Token: 33}, "cancelled"))
	// Output:
	// stored <nil>
	// refused: "orders.42": stale fencing token: 000000000000033, after 000000000000034 was seen
}

// openOrders makes the bucket of the example and guards it.
func openOrders(ctx context.Context, nc *nats.Conn) (*fencekv.Bucket, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	if _, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "orders"}); err != nil {
		return nil, err
	}
	return fencekv.Open(ctx, js, "orders")
}

// send is what a client does with its claim.
func send(nc *nats.Conn, c fence.Claim, order string) (answer string, err error) {
	request := nats.NewMsg("orders.put")
	request.Data = []byte(order)
	if err := c.SetHeader(request.Header); err != nil {
		return "", err
	}
	m, err := nc.RequestMsg(request, 5*time.Second)
	if err != nil {
		return "", err
	}
	if err := fencenats.ResponseError(m); err != nil {
		return "refused:", err
	}
	return string(m.Data), nil
}
