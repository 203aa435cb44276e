package fences3_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

const (
	install   = "cd clients/fence/fences3 && go tool -modfile=versitygw/go.mod -n versitygw"
	bucket    = "documents"
	versioned = "versioned-documents"
)

// gateway is an S3 server over a file system, which all tests of this package share.
var gateway *fencetest.Process

func TestMain(m *testing.M) { os.Exit(fencetest.Main(m, start)) }

func start(tb testing.TB) {
	tb.Helper()
	gateway = startGateway(tb)
	for _, name := range []string{bucket, versioned} {
		makeBucket(tb, name)
	}
}

func makeBucket(tb testing.TB, name string) {
	tb.Helper()
	client := connect(gateway.Addr)
	_, err := client.CreateBucket(tb.Context(), &s3.CreateBucketInput{Bucket: &name})
	must(tb, err)
	if name != versioned {
		return
	}
	_, err = client.PutBucketVersioning(tb.Context(), &s3.PutBucketVersioningInput{Bucket: &name,
		VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled}})
	must(tb, err)
}

// startGateway builds versitygw, if that was not done before, and starts it with its data on disk.
func startGateway(tb testing.TB) *fencetest.Process {
	tb.Helper()
	path := fencetest.Tool(tb, "versitygw/go.mod", "versitygw")
	data, versions := filepath.Join(tb.TempDir(), "data"), filepath.Join(tb.TempDir(), "versions")
	for _, dir := range []string{data, versions} {
		must(tb, os.Mkdir(dir, 0o700))
	}
	return fencetest.Server{
		Program: path,
		Install: install,
		Command: func(addr string) *exec.Cmd {
			return exec.Command(path, "--port", addr, "--access", "key", "--secret", "secret",
				"--quiet", "posix", "--versioning-dir", versions, data)
		},
		Ready: func(ctx context.Context, addr string) error {
			_, err := connect(addr).ListBuckets(ctx, &s3.ListBucketsInput{},
				func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
			return err
		},
	}.Start(tb)
}

func connect(addr string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + addr),
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("key", "secret", ""),
		HTTPClient:   &http.Client{},
		UsePathStyle: true,
	})
}
