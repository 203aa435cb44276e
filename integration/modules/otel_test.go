package modules_test

// otelLinked are the modules of the API of OpenTelemetry, without its SDK, and otelGraph what they require beside
// those.
var (
	otelLinked = []string{holdfast + "/clients/holdfast/holdfastotel", "github.com/go-logr/logr",
		"github.com/go-logr/stdr",
		"go.opentelemetry.io/auto/sdk", "go.opentelemetry.io/otel", "go.opentelemetry.io/otel/log",
		"go.opentelemetry.io/otel/metric",
		"go.opentelemetry.io/otel/trace"}
	otelGraph = []string{"github.com/davecgh/go-spew", "github.com/kr/pretty", "github.com/pmezard/go-difflib",
		"github.com/rogpeppe/go-internal", "gopkg.in/"}
)
