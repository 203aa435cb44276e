package nodeotel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// recorder has the spans that have ended. They are there when what they are about has returned.
type recorder struct {
	*tracetest.InMemoryExporter
	provider *sdktrace.TracerProvider
}

func newRecorder(tb testing.TB, sampler sdktrace.Sampler) *recorder {
	tb.Helper()
	e := tracetest.NewInMemoryExporter()
	r := &recorder{e, sdktrace.NewTracerProvider(sdktrace.WithSyncer(e), sdktrace.WithSampler(sampler))}
	tb.Cleanup(func() {
		if err := r.provider.Shutdown(context.WithoutCancel(tb.Context())); err != nil {
			tb.Error(err)
		}
	})
	return r
}

// tree returns the spans below one, each with its children in parentheses, in the order of their beginnings.
func (r *recorder) tree(parent trace.SpanID) string {
	var names []string
	for _, s := range r.below(parent) {
		name, _, _ := strings.Cut(s.Name, " ")
		name = s.SpanKind.String() + ":" + name
		if inner := r.tree(s.SpanContext.SpanID()); inner != "" {
			name += "(" + inner + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// below returns the children of a span in the order of their beginnings.
func (r *recorder) below(parent trace.SpanID) tracetest.SpanStubs {
	all := slices.DeleteFunc(r.GetSpans(), func(s tracetest.SpanStub) bool { return s.Parent.SpanID() != parent })
	slices.SortStableFunc(all, func(a, b tracetest.SpanStub) int {
		if c := a.StartTime.Compare(b.StartTime); c != 0 {
			return c
		}
		return a.EndTime.Compare(b.EndTime)
	})
	return all
}

// find returns the only span of a kind, name and resource.
func (r *recorder) find(tb testing.TB, kind trace.SpanKind, name, resource string) tracetest.SpanStub {
	tb.Helper()
	all := slices.DeleteFunc(r.GetSpans(), func(s tracetest.SpanStub) bool {
		return s.SpanKind != kind || s.Name != name || attributes(s)["holdfast.resource"] != resource
	})
	if len(all) != 1 {
		tb.Fatalf("%d spans %v %q of %q, want one", len(all), kind, name, resource)
	}
	return all[0]
}

// child returns the only child of a span with this name.
func (r *recorder) child(tb testing.TB, of tracetest.SpanStub, name string) tracetest.SpanStub {
	tb.Helper()
	all := slices.DeleteFunc(r.below(of.SpanContext.SpanID()),
		func(s tracetest.SpanStub) bool { return s.Name != name })
	if len(all) != 1 {
		tb.Fatalf("%d spans %q below %q, want one", len(all), name, of.Name)
	}
	return all[0]
}

// attributes returns the attributes of a span as texts.
func attributes(s tracetest.SpanStub) map[attribute.Key]string {
	m := make(map[attribute.Key]string)
	for _, a := range s.Attributes {
		m[a.Key] = a.Value.String()
	}
	return m
}

func checkAttributes(tb testing.TB, s tracetest.SpanStub, want map[attribute.Key]string) {
	tb.Helper()
	got := attributes(s)
	for k, v := range want {
		if got[k] != v {
			tb.Errorf("%v %s: %s is %q, want %q", s.SpanKind, s.Name, k, got[k], v)
		}
	}
}

// linked returns the spans to which a span links.
func linked(s tracetest.SpanStub) string {
	var all []string
	for _, l := range s.Links {
		all = append(all, l.SpanContext.SpanID().String())
	}
	return fmt.Sprint(all)
}

func ids(spans ...tracetest.SpanStub) string {
	var all []string
	for _, s := range spans {
		all = append(all, s.SpanContext.SpanID().String())
	}
	return fmt.Sprint(all)
}
