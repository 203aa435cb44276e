// Package request sends requests of the wire contract (docs/wire.md) until they are answered.
//
// It is the layer below package holdfast. Use it only in a program that speaks the contract itself, such
// as the command line; applications use package holdfast, which renews leases and reports their loss.
//
// A [Sender] works on a NATS connection. It has one subscription for all answers and one goroutine that
// publishes. An [Exchange] sends one [Request] again and again, on the contract's schedule, until there is
// an answer. The repetitions are the same request to the service, which carries it out once; a request to
// acquire is known by its request_id.
//
//	s, err := request.NewSender(nc, request.Config{})
//	...
//	x := s.Exchange(request.Request{Op: messages.OpGet, Key: key, Message: func() proto.Message { return m }})
//	defer x.Finish()
//	a, err := x.Within(ctx, 15*time.Second)
//
// Without an answer, [Error.Definite] reports whether the request may have had an effect.
package request
