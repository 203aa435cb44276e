// Command release turns a directory of packages into a release: it adds the formula of Homebrew, the checksums of all
// files, the provenance, and, if it has a key, signatures. The same files, version and commits give the same bytes,
// except for signatures.
//
// Run it from its module: cd packaging && go run ./release -version 1.2.3 -commit HASH -source HASH [-key FILE] DIR
package main

import (
	"crypto/ecdsa"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-io/holdfast/packaging/checksums"
)

const repository = "https://github.com/holdfast-io/holdfast"

func main() {
	var o origin
	flag.StringVar(&o.version, "version", "", "`VERSION` as the packages have it: 1.2.3-rc.1")
	flag.StringVar(&o.commit, "commit", "", "`HASH` of the commit of the tags")
	flag.StringVar(&o.source, "source", "", "`HASH` of the commit that this one was made from")
	flag.StringVar(&o.toolchain, "go", "", "`VERSION` of Go that built the packages")
	key := flag.String("key", "", "`FILE` with the private key, ECDSA P-256 in PEM; empty: nothing is signed")
	flag.Parse()
	if flag.NArg() != 1 || o.version == "" || o.commit == "" || o.source == "" || o.toolchain == "" {
		fmt.Fprintln(os.Stderr, "usage: release -version 1.2.3 -commit HASH -source HASH -go VERSION [-key FILE] DIR")
		os.Exit(2)
	}
	if err := release(flag.Arg(0), o, *key); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func release(dir string, o origin, keyFile string) error {
	var key *ecdsa.PrivateKey
	if keyFile != "" {
		var err error
		if key, err = readKey(keyFile); err != nil {
			return err
		}
	}
	sums, err := checksums.Read(dir)
	if err != nil {
		return err
	}
	brew, err := formula(o.version, sums)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "holdfast.rb"), []byte(brew), 0o644); err != nil {
		return err
	}
	if err := checksums.Write(dir); err != nil {
		return err
	}
	if sums, err = checksums.Read(dir); err != nil {
		return err
	}
	statement, err := provenance(o, sums)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, provenanceFile), statement, 0o644); err != nil {
		return err
	}
	if key == nil {
		_, _ = fmt.Fprintln(os.Stderr, "Nothing is signed: no key was given.")
		return nil
	}
	return errors.Join(signFile(key, filepath.Join(dir, checksums.File)), writeEnvelope(key, dir, statement),
		writePublicKey(key, dir))
}
