// Package page_test tests the web page of nodes in Chromium, with Playwright and axe.
package page_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

var screenshots = flag.String("page.screenshots", "", "write the screenshots of the documentation to this `DIR`")

// browserTimeout bounds the tests in the browser, which take less than a minute on a quiet machine.
const browserTimeout = 8 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(stand.Main(m))
}

// TestBrowser runs the tests in the folder browser. make servers installs what they need.
func TestBrowser(t *testing.T) {
	t.Parallel()
	dir := ""
	if *screenshots != "" {
		var err error
		if dir, err = filepath.Abs(*screenshots); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), browserTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "--test", "browser/page.test.mjs")
	cmd.WaitDelay = time.Second // what it has started keeps its output open
	cmd.Env = append(os.Environ(), "HOLDFAST_BINARY="+stand.Binary(t), "HOLDFAST_SCREENSHOTS="+dir)
	out, err := cmd.CombinedOutput()
	if t.Log(string(out)); err != nil {
		t.Fatalf("%v; if a program or a module is missing: make servers", err)
	}
}

// The page of each node shows the whole deployment, and of the shards of other nodes that they are there.
func TestOtherNodes(t *testing.T) {
	t.Parallel()
	const nodes = 2
	members := stand.NewMembers(t, nodes, "--shards", "8")
	addresses := porttest.Free(t, nodes)
	for i, m := range members.All {
		m.Args = append(m.Args, "--http", addresses[i])
		m.Start()
	}
	for _, m := range members.All {
		m.WaitReady()
	}
	client := stand.Client(t, stand.Dial(t, members.All[0].URL))
	const locks = 32
	for i := range locks {
		stand.Value(client.Acquire(t.Context(), fmt.Sprintf("orders.%d", i), holdfast.NoRenewal(),
			holdfast.TTL(time.Hour)))(t)
	}
	for _, address := range addresses {
		wantView(t, "http://"+address+"/locks", fmt.Sprintf("%d leases are shown.", locks))
		wantView(t, "http://"+address+"/events", fmt.Sprintf("%d changes are shown.", locks))
		wantView(t, "http://"+address+"/cluster", "2 nodes run.", "on another node", "<td>open</td>")
		wantView(t, "http://"+address+"/", "All is well.", fmt.Sprintf("<dd>%d</dd>", locks), "<dd>2</dd>")
	}
}

// wantView waits until the view has all of the texts: nodes share the shards a moment after they are ready.
func wantView(t *testing.T, url string, texts ...string) {
	t.Helper()
	stand.Eventually(t, fmt.Sprintf("%s has %q", url, texts), func() bool {
		_, body := stand.Fetch(t, url)
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(body, text) })
	})
}
