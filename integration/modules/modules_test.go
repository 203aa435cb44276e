// Package modules gets the modules of Holdfast the way an application does, from a module proxy, and
// checks what the application inherits. The proxy is a folder that the script of the release makes.
package modules_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const holdfast = "github.com/holdfast-io/holdfast"

// application imports one package and is built outside of the repository.
type application struct {
	module string // as in holdfast/MODULE
	pkg    string // as in holdfast/PACKAGE
	uses   string // an expression of package main
	graph  []string
	linked []string
	host   string // a package of others, all of whose modules the application has anyway
}

// Modules of applications. unlinked ones are in each module graph and in no binary: other packages of the
// module clients require them, or tests of dependencies do.
var (
	clients = []string{holdfast + "/clients", holdfast + "/messages", "golang.org/x/text", "google.golang.org/protobuf"}
	nats    = []string{"github.com/nats-io/nats.go", "github.com/nats-io/nkeys", "github.com/nats-io/nuid",
		"github.com/klauspost/compress", "github.com/cespare/xxhash/v2", "golang.org/x/crypto", "golang.org/x/sys"}
	unlinked = slices.Concat(nats, []string{"github.com/gofrs/flock", "pgregory.net/rapid",
		"github.com/golang/protobuf", "github.com/google/go-cmp", "github.com/stretchr/testify", "go.yaml.in/yaml/v3",
		"golang.org/x/mod", "golang.org/x/net", "golang.org/x/sync", "golang.org/x/term", "golang.org/x/tools"})
)

const aws = "github.com/aws/aws-sdk-go-v2"

var applications = []application{
	{module: "clients", pkg: "clients/holdfast", uses: "holdfast.New", linked: nats},
	{module: "clients", pkg: "clients/fence", uses: "fence.Repeatable"},
	{module: "clients", pkg: "clients/fence/fencefile", uses: "fencefile.Open",
		linked: []string{"github.com/gofrs/flock", "golang.org/x/sys"}},
	{module: "clients", pkg: "clients/fence/fencekv", uses: "fencekv.Open", linked: nats},
	{module: "clients", pkg: "clients/fence/fencenats", uses: "fencenats.New", linked: nats},
	{module: "clients", pkg: "clients/fence/fencehttp", uses: "fencehttp.New"},
	{module: "clients/holdfast/holdfastotel", pkg: "clients/holdfast/holdfastotel", uses: "holdfastotel.Trace",
		graph: otelGraph, linked: append(otelLinked, nats...)},
	guard("redis", []string{"github.com/redis/go-redis/v9", "go.uber.org/atomic"}),
	guard("etcd", etcdGraph, "github.com/coreos/go-semver", "github.com/coreos/go-systemd/v22",
		"github.com/golang/protobuf",
		"github.com/grpc-ecosystem/grpc-gateway/v2", "go.etcd.io/etcd/api/v3", "go.etcd.io/etcd/client/pkg/v3",
		"go.etcd.io/etcd/client/v3",
		"go.uber.org/multierr", "go.uber.org/zap", "golang.org/x/net", "golang.org/x/sys",
		"google.golang.org/genproto/googleapis/api", "google.golang.org/genproto/googleapis/rpc",
		"google.golang.org/grpc"),
	guard("dynamo", []string{aws + "/credentials"},
		aws, aws+"/internal/configsources", aws+"/internal/endpoints/v2", aws+"/service/dynamodb",
		aws+"/service/internal/accept-encoding", aws+"/service/internal/endpoint-discovery",
		"github.com/aws/smithy-go"),
	guard("s3", []string{aws + "/credentials"},
		aws, aws+"/aws/protocol/eventstream", aws+"/internal/configsources", aws+"/internal/endpoints/v2",
		aws+"/internal/v4a",
		aws+"/service/internal/accept-encoding", aws+"/service/internal/checksum",
		aws+"/service/internal/presigned-url",
		aws+"/service/internal/s3shared", aws+"/service/s3", "github.com/aws/smithy-go"),
	// The drivers are those of the guard's tests. An application has its own; these are neither linked nor
	// downloaded.
	guard("sql", []string{"filippo.io/edwards25519", "github.com/dustin/go-humanize", "github.com/go-sql-driver/mysql",
		"github.com/google/uuid",
		"github.com/jackc/pgpassfile", "github.com/jackc/pgservicefile", "github.com/jackc/pgx/v5",
		"github.com/jackc/puddle/v2",
		"github.com/mattn/go-isatty", "github.com/ncruces/go-strftime", "github.com/remyoudompheng/bigfft",
		"modernc.org/libc", "modernc.org/mathutil", "modernc.org/memory", "modernc.org/sqlite"}),
	adapter("kuberneteslock", "New", "sigs.k8s.io/controller-runtime/pkg/manager"),
	adapter("gocronlock", "NewLocker", "github.com/go-co-op/gocron/v2"),
	adapter("gooselock", "New", "github.com/pressly/goose/v3"),
	adapter("migratelock", "New", "github.com/golang-migrate/migrate/v4"),
	adapter("certmagiclock", "New", "github.com/caddyserver/certmagic"),
	adapter("tusdlock", "New", "github.com/tus/tusd/v2/pkg/handler"),
}

// adapter is an application of an adapter. It inherits nothing beside the client and the host.
func adapter(name, constructor, host string) application {
	module := "clients/adapters/" + name
	return application{module: module, pkg: module, uses: name + "." + constructor, host: host,
		linked: append([]string{holdfast + "/" + module}, nats...)}
}

// guard is an application of a guard that is a module of its own.
func guard(store string, graph []string, linked ...string) application {
	name := "clients/fence/fence" + store
	return application{module: name, pkg: name, uses: "fence" + store + ".New", graph: graph,
		linked: append(linked, holdfast+"/"+name)}
}

// TestRedlockOfPage checks what docs/move.md says of the calls of redlock in TypeScript, which has the lines of the peer.
func TestRedlockOfPage(t *testing.T) {
	_, page, _ := strings.Cut(string(mustRead(t, "../../clients/typescript/README.md")), "\n## redlock\n")
	blocks := strings.Split(page, "```")
	lines := strings.Count(blocks[1], "\n") - 1 - strings.Count(blocks[1], "\n\n")
	onPage(t, "clients/typescript/README.md#redlock", fmt.Sprintf(") | %d | %d | | %d |", lines, lines,
		bytes.Count(mustRead(t, "../../clients/typescript/src/redlock.ts"), []byte("\n"))))
}

func TestApplications(t *testing.T) {
	p := newProxy(t)
	for _, a := range applications {
		t.Run(filepath.Base(a.pkg), func(t *testing.T) { p.check(t, a) })
	}
}

// TestInstall resolves the commands as their users do, without building them. The go command refuses a module
// that replaces another one.
func TestInstall(t *testing.T) {
	p := newProxy(t)
	for _, command := range []string{"cmd/holdfast", "cmd/holdfast/otel/holdfast-otel"} {
		p.run(t, t.TempDir(), "go", "install", "-n", holdfast+"/"+command+"@"+p.version)
	}
}

// proxy is a GOPROXY with the modules of the repository at one version, in front of the configured one.
type proxy struct {
	version string
	env     []string
}

// newProxy releases the working tree under a version that no module cache has seen.
func newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{version: fmt.Sprintf("v0.0.0-rc.%d", rand.Uint64())}
	tree, dir := t.TempDir(), t.TempDir()
	p.run(t, "../..", "bash", ".ci/release", "--into", tree, dir, p.version)
	t.Cleanup(func() { forget(t, p.version) })
	p.env = []string{
		"GOPROXY=file://" + dir + "," + goEnv(t, "GOPROXY"),
		"GONOPROXY=", "GOPRIVATE=", "GOSUMDB=off", "GOWORK=off",
		"GOFLAGS=-modcacherw", // so that forget may remove the modules
	}
	return p
}

// run returns the output of a command.
func (p *proxy) run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), p.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return stdout.String()
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// forget removes what the module cache holds of a version.
func forget(t *testing.T, version string) {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"github.com/holdfast-io", "cache/download/github.com/holdfast-io"} {
		root := filepath.Join(strings.TrimSpace(string(cache)), part)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			name := filepath.Base(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case d.IsDir() && strings.HasSuffix(name, "@"+version):
				if err := os.RemoveAll(path); err != nil {
					return err
				}
				return fs.SkipDir
			case !d.IsDir() && strings.HasPrefix(name, version+"."):
				return os.Remove(path)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// check builds the application and compares what it inherits with what it may.
func (p *proxy) check(t *testing.T, a application) {
	t.Helper()
	dir := t.TempDir()
	var without []string
	var host string
	if a.host != "" {
		// The versions of host and client are those that the adapter requires.
		host = fmt.Sprintf("import (\n\t_ %q\n\t_ %q\n)\n\n", a.host, holdfast+"/clients/holdfast")
		var linked []string
		a.graph, without, linked = p.inherit(t, t.TempDir(), a, host+"func main() {}\n")
		a.linked = slices.Concat(a.linked, linked)
	}
	graph, sums, linked := p.inherit(t, dir, a, host+fmt.Sprintf(
		"import (\n\t\"fmt\"\n\n\t%q\n)\n\nfunc main() { fmt.Printf(\"%%T\\n\", %s) }\n", holdfast+"/"+a.pkg, a.uses))
	mayLink := slices.Concat(clients, a.linked)
	mayKnow := slices.Concat(mayLink, unlinked, a.graph)
	within(t, "the binary", linked, mayLink)
	within(t, "the module graph", graph, mayKnow)
	within(t, "go.sum", sums, mayKnow)
	if a.host != "" {
		ofPage(t, a, len(sums)-len(without), len(without))
	}

	info, err := os.Stat(filepath.Join(dir, "application"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d modules in the graph, %d lines in go.sum, %d linked; the binary has %d kB",
		len(graph), len(sums), len(linked), info.Size()/1000)
}

// inherit builds an application that requires the module in dir, and returns which modules it has.
func (p *proxy) inherit(t *testing.T, dir string, a application, source string) (graph, sums, linked []string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\n"+source), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run(t, dir, "go", "mod", "init", "example.com/application")
	p.run(t, dir, "go", "get", holdfast+"/"+a.module+"@"+p.version)
	p.run(t, dir, "go", "mod", "tidy")
	p.run(t, dir, "go", "build", "-o", "application", ".")

	graph = firstFields(p.run(t, dir, "go", "list", "-m", "all"))[1:] // without the application
	content, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	sums = firstFields(string(content)) // a module has a line for its go.mod, and one for its files if they are needed
	for line := range strings.Lines(p.run(t, dir, "go", "version", "-m", "application")) {
		if fields := strings.Fields(line); fields[0] == "dep" {
			linked = append(linked, fields[1])
		}
	}
	return graph, sums, linked
}

// within checks that modules were inherited at all, and none beside those of the list.
func within(t *testing.T, where string, got, list []string) {
	t.Helper()
	if !slices.Contains(got, holdfast+"/messages") {
		t.Errorf("%s lacks Holdfast itself: %q", where, got)
	}
	for _, module := range got {
		if !slices.ContainsFunc(list, func(m string) bool {
			return m == module || strings.HasSuffix(m, "/") && strings.HasPrefix(module, m)
		}) {
			t.Errorf("%s has %s", where, module)
		}
	}
}

// firstFields returns the first field of each line.
func firstFields(text string) (fields []string) {
	for line := range strings.Lines(text) {
		fields = append(fields, strings.Fields(line)[0])
	}
	return fields
}

// ofPage checks what docs/move.md says of an adapter: the lines of its user and of the peer's, the lines that it adds
// to the go.sum of a program with host and client, those that are there, and its own.
func ofPage(t *testing.T, a application, added, without int) {
	t.Helper()
	dir := filepath.Join("../..", filepath.FromSlash(a.module))
	blocks := strings.Split(string(mustRead(t, filepath.Join(dir, "README.md"))), "```")
	if len(blocks) != 5 {
		t.Fatalf("the page has %d parts around blocks of code, want 5: the user's lines, then the peer's", len(blocks))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			own += bytes.Count(mustRead(t, file), []byte("\n"))
		}
	}
	if own > mostLines {
		t.Errorf("the adapter has %d lines, more than %d", own, mostLines)
	}
	onPage(t, a.module+"/README.md", fmt.Sprintf(") | %d | %d | %d to %d | %d |", strings.Count(blocks[1], "\n")-1,
		strings.Count(blocks[3], "\n")-1, added, without, own))
}

// onPage looks for a row of the table in docs/move.md.
func onPage(t *testing.T, link, columns string) {
	t.Helper()
	if !bytes.Contains(mustRead(t, "../../docs/move.md"), []byte(link+columns)) {
		t.Errorf("docs/move.md has no row with %s%s", link, columns)
	}
}

// mostLines bounds an adapter, without its tests.
const mostLines = 200

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
