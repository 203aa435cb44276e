package fencedynamo_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/holdfast-io/holdfast/clients/fence/fencedynamo"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

const (
	install = "npm ci --prefix clients/fence/fencedynamo/dynalite"
	// patience bounds the wait for a table. Nothing is measured by it.
	patience = 10 * time.Second
)

var (
	// dynalite is a server of DynamoDB's protocol, which all tests of this package share.
	dynalite *fencetest.Process
	// transactions is the address of a server in front of it that has transactions, too.
	transactions string
)

func TestMain(m *testing.M) { os.Exit(fencetest.Main(m, start)) }

func start(tb testing.TB) {
	tb.Helper()
	dynalite = startDynalite(tb)
	front := startTransactor(dynalite.Addr)
	tb.Cleanup(front.Close)
	transactions = front.Listener.Addr().String()
	create(tb, dataTable("accounts"))
	create(tb, fencedynamo.MarksTable("fences"))
}

// startDynalite starts dynalite with its data on disk.
func startDynalite(tb testing.TB) *fencetest.Process {
	tb.Helper()
	const script, aborted = "dynalite/node_modules/dynalite/cli.js", "./dynalite/aborted.cjs"
	if _, err := os.Stat(script); err != nil {
		tb.Fatalf("dynalite is missing; install it with: %s", install)
	}
	data := filepath.Join(tb.TempDir(), "level")
	return fencetest.Server{
		Program: "node",
		Install: "apt-get install nodejs",
		Command: func(addr string) *exec.Cmd {
			host, port, _ := net.SplitHostPort(addr)
			return exec.Command("node", "--require", aborted, script, "--host", host, "--port", port,
				"--path", data, "--createTableMs", "0", "--deleteTableMs", "0")
		},
		Ready: func(ctx context.Context, addr string) error {
			_, err := connect(addr).ListTables(ctx, &dynamodb.ListTablesInput{},
				func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
			return err
		},
	}.Start(tb)
}

func connect(addr string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("http://" + addr),
		Region:       "eu-central-1",
		Credentials:  credentials.NewStaticCredentialsProvider("key", "secret", ""),
		HTTPClient:   &http.Client{},
	})
}
