// Command build makes the packages of Holdfast: archives of the binary for each platform; deb, rpm and apk for Linux;
// one image for all platforms of Linux; the Helm chart, also as an artifact for registries of images; the licences and the bills of materials of what is linked; and the checksums of all of them. The same
// commit, version and Go give the same bytes.
//
// Run it from its module: cd packaging && go run ./build -version VERSION -time SECONDS DIR
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/packaging/checksums"
)

func main() {
	var names []string
	for _, t := range targets {
		names = append(names, t.String())
	}
	described := flag.String("version", "", "`VERSION` as git describe prints it")
	seconds := flag.Int64("time", 0, "`TIME` of all files, in seconds since 1970; that of the commit")
	only := flag.String("targets", strings.Join(names, ","), "comma-separated `LIST` of platforms")
	flag.Parse()
	if flag.NArg() != 1 || *seconds <= 0 {
		fmt.Fprintln(os.Stderr, "usage: build -version VERSION -time SECONDS [-targets linux/amd64,...] DIR")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *described, time.Unix(*seconds, 0).UTC(), strings.Split(*only, ","), flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// run makes the packages of the named platforms in a directory, which must not exist.
func run(ctx context.Context, described string, at time.Time, platforms []string, dir string) error {
	v, err := parseVersion(described)
	if err != nil {
		return err
	}
	chosen, err := parseTargets(platforms)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("%w; give a directory that does not exist, so that it holds these packages only", err)
	}
	b, err := newBuild(ctx, v, at, dir)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.writeNotices(ctx); err != nil {
		return err
	}
	if err := b.writeChart(); err != nil {
		return err
	}
	for _, t := range chosen {
		if err := b.make(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := b.writeImage(chosen); err != nil {
		return err
	}
	return checksums.Write(dir)
}
