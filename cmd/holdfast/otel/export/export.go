// Package export sends the spans of a node to a receiver of OTLP, over HTTP.
package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/holdfast-io/holdfast/cmd/holdfast/otel/nodeotel"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
)

// Start gives a node a tracer whose spans are exported, and returns what exports the rest and ends that. The
// environment of OpenTelemetry configures the exporter (OTEL_EXPORTER_OTLP_*), the sampler (OTEL_TRACES_SAMPLER), the
// bounds of what waits to be exported (OTEL_BSP_*) and the resource (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES). By
// default the receiver is at http://localhost:4318, each request is traced whose header says so, and the service is
// "holdfast", its instance the name of the node. A receiver that cannot be reached is logged; spans for which there is
// no room are dropped, and requests never wait for it.
//
// An error is that of a setting.
func Start(ctx context.Context, cfg *server.Config) (stop func(context.Context) error, err error) {
	if err := checkProtocol(); err != nil {
		return nil, err
	}
	r, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName("holdfast"), semconv.ServiceVersion(cfg.Version), semconv.ServiceInstanceID(cfg.Name),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("the resource of traces: %w", err)
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("the exporter of traces: %w", err)
	}
	log := cfg.Log
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { warn(log, err) }))
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(r))
	cfg.Tracer = nodeotel.New(p, cfg.Prefix)
	return p.Shutdown, nil
}

func warn(log *slog.Logger, err error) {
	if !errors.Is(err, context.Canceled) {
		log.Warn("cannot export traces", "error", err)
	}
}

// protocol is the one that the program speaks.
const protocol = "http/protobuf"

// checkProtocol refuses another protocol, which the exporter would ignore.
func checkProtocol() error {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if got := os.Getenv(name); got != "" {
			if got == protocol {
				return nil
			}
			return fmt.Errorf("%s: %s is the only protocol of this program, got %q", name, protocol, got)
		}
	}
	return nil
}
