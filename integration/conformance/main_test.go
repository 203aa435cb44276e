package conformance_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// root is the folder in which drivers run, as seen from here.
const root = "../.."

// patience is how long a step may take. It measures nothing.
const patience = 30 * time.Second

var driverFlag = flag.String("conformance.driver", "",
	"run the cases with this driver alone: a `COMMAND` and its arguments, separated by blanks, which runs at the "+
		"root of the repository")

func TestMain(m *testing.M) {
	flag.Parse()
	stand.AtOnce(16)
	os.Exit(stand.Main(m))
}

// TestConformance runs all cases with all drivers.
func TestConformance(t *testing.T) {
	files := loadCases(t, filepath.Join(root, "clients/conformance/cases"))
	for _, d := range drivers(t) {
		t.Run(d.name, func(t *testing.T) {
			if d.file != "" {
				if _, err := os.Stat(filepath.Join(root, d.file)); err != nil {
					t.Fatalf("the driver %s is not there; run: make test-%s", d.file, d.name)
				}
			}
			shared := newDeployment(t, 1, 0, "--shards", "4")
			processes := newPool(t, d, shared.url)
			if d.virtual {
				processes.archive()
			}
			for _, f := range files {
				t.Run(f.name, func(t *testing.T) {
					t.Parallel()
					for _, c := range f.cases {
						t.Run(c.Name, func(t *testing.T) {
							t.Parallel()
							runCase(t, c, shared, processes)
						})
					}
				})
			}
		})
	}
}

const (
	nodeDriver = "clients/typescript/conformance/driver.js"
	python     = "clients/python/.venv/bin/python"
	javaLib    = "clients/java/conformance/target/lib"
)

// language is a driver.
type language struct {
	name    string
	command []string
	// file is what the tests of the client make and the command needs; empty: nothing.
	file string
	// virtual: it runs in a virtual machine of Java, with a path of jars alone.
	virtual bool
	// foreign: the driver is not of this repository, so its client may lack capabilities.
	foreign bool
}

// mustHave skips the case if the driver says that its client lacks a capability. Of a client of this repository that is
// a failure.
func (l language) mustHave(t *testing.T, d *driver, capability string) {
	t.Helper()
	ctx, cancel := stepContext(t)
	defer cancel()
	c, err := d.send(&step{stepMembers: stepMembers{Call: "has"}}, map[string]any{"call": "has"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.wants(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	result, _ := a.ok.(map[string]any) // a driver that does not know the call has none
	all, _ := result["capabilities"].([]any)
	switch has := slices.Contains(all, any(capability)); {
	case !has && !l.foreign:
		t.Fatalf("the driver has not %q: it answered %s", capability, text(a))
	case !has:
		t.Skipf("the client lacks %q", capability)
	}
}

// drivers returns those of the clients of this repository, or the one of the flag.
func drivers(t *testing.T) []language {
	t.Helper()
	if *driverFlag != "" {
		return []language{{name: "flag", command: strings.Fields(*driverFlag), foreign: true}}
	}
	return []language{
		{name: "go", command: []string{buildGoDriver(t)}},
		{name: "typescript", command: []string{"node", nodeDriver}, file: nodeDriver},
		{name: "python", command: []string{python, "clients/python/conformance/driver.py"}, file: python},
		{name: "java", command: []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", javaLib + "/*",
			"io.github.holdfastio.conformance.Driver"}, file: javaLib + "/driver.jar", virtual: true},
	}
}

// buildGoDriver builds the driver of the Go client, with the race detector if this test has it.
func buildGoDriver(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "godriver")
	args := []string{"build", "-buildvcs=false", "-o", file}
	if race {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "./godriver")...).CombinedOutput()
	if err != nil {
		t.Fatalf("build the driver: %v\n%s", err, out)
	}
	return file
}
