package modules_test

// etcdGraph is what gRPC and the client of etcd require, beside what they link. A slash at the end stands
// for all modules below. The server of etcd is not among them.
var etcdGraph = []string{
	"cel.dev/expr", "cloud.google.com/go/", "github.com/GoogleCloudPlatform/", "github.com/antihax/optional",
	"github.com/beorn7/perks",
	"github.com/cncf/xds/", "github.com/davecgh/go-spew", "github.com/dustin/go-humanize", "github.com/envoyproxy/",
	"github.com/felixge/httpsnoop", "github.com/go-jose/go-jose/", "github.com/go-logr/", "github.com/godbus/dbus/",
	"github.com/golang/glog", "github.com/google/s2a-go", "github.com/google/uuid", "github.com/googleapis/",
	"github.com/grpc-ecosystem/go-grpc-middleware/", "github.com/kr/", "github.com/munnerz/goautoneg",
	"github.com/planetscale/vtprotobuf", "github.com/pmezard/go-difflib", "github.com/prometheus/",
	"github.com/rogpeppe/",
	"github.com/spiffe/go-spiffe/", "go.opentelemetry.io/", "go.uber.org/goleak", "go.yaml.in/yaml/",
	"golang.org/x/oauth2",
	"gonum.org/v1/gonum", "gopkg.in/", "sigs.k8s.io/yaml",
}
