package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/packaging/checksums"
)

var archives = []string{"holdfast_1.2.3-rc.1_darwin_amd64.tar.gz", "holdfast_1.2.3-rc.1_darwin_arm64.tar.gz",
	"holdfast_1.2.3-rc.1_linux_amd64.tar.gz", "holdfast_1.2.3-rc.1_linux_arm64.tar.gz"}

// packages returns a directory as the command build leaves it.
func packages(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("content of "+name), 0o644))
	}
	must(t, checksums.Write(dir))
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openssl(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "openssl", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("openssl %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func read(t *testing.T, elements ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(elements...))
	must(t, err)
	return content
}

var someOrigin = origin{version: "1.2.3-rc.1", commit: strings.Repeat("a", 40), source: strings.Repeat("b", 40),
	toolchain: "go1.26.8"}

// A release names each file with its checksum in each of its documents, and openssl accepts the signatures of both kinds
// of keys that it writes.
func TestRelease(t *testing.T) {
	for name, make := range map[string][]string{
		"PKCS8": {"genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "key.pem"},
		"SEC1":  {"ecparam", "-name", "prime256v1", "-genkey", "-out", "key.pem"}, // with a block of parameters before it
	} {
		t.Run(name, func(t *testing.T) {
			keys, dir := t.TempDir(), packages(t, archives...)
			openssl(t, keys, make...)
			must(t, release(dir, someOrigin, filepath.Join(keys, "key.pem")))
			checkSums(t, dir)
			checkFormula(t, dir, "1.2.3-rc.1")
			checkProvenance(t, dir, someOrigin.version)
			checkSignatures(t, dir)
		})
	}
}

// Without a key nothing is signed, and two runs give the same bytes.
func TestReleaseWithoutAKey(t *testing.T) {
	dir, again := packages(t, archives...), packages(t, archives...)
	must(t, release(dir, someOrigin, ""))
	must(t, release(again, someOrigin, ""))
	want := slices.Concat([]string{checksums.File, "holdfast.rb"}, archives, []string{provenanceFile})
	entries, err := os.ReadDir(dir)
	must(t, err)
	for i, e := range entries {
		if i >= len(want) || e.Name() != want[i] {
			t.Errorf("there is %s, want just %q", e.Name(), want)
		}
		if string(read(t, dir, e.Name())) != string(read(t, again, e.Name())) {
			t.Errorf("%s differs between two runs", e.Name())
		}
	}
}

func TestReleaseRefuses(t *testing.T) {
	keys := t.TempDir()
	openssl(t, keys, "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384", "-out", "p384.pem")
	openssl(t, keys, "genpkey", "-algorithm", "RSA", "-out", "rsa.pem")
	openssl(t, keys, "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes-128-cbc", "-pass", "pass:x",
		"-out", "secret.pem")
	must(t, os.WriteFile(filepath.Join(keys, "empty.pem"), nil, 0o600))
	for name, c := range map[string]struct {
		files    []string
		key      string
		complain string
	}{
		"another curve":      {archives, "p384.pem", "want ECDSA on the curve P-256"},
		"another kind":       {archives, "rsa.pem", "want ECDSA on the curve P-256"},
		"a passphrase":       {archives, "secret.pem", "no private key in PEM that has no passphrase; make one: openssl "},
		"an empty key":       {archives, "empty.pem", "no private key"},
		"a missing key":      {archives, "missing.pem", "no such file"},
		"a missing platform": {archives[1:], "", "has no " + archives[0]},
	} {
		key := c.key
		if key != "" {
			key = filepath.Join(keys, key)
		}
		if err := release(packages(t, c.files...), someOrigin, key); err == nil || !strings.Contains(err.Error(), c.complain) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.complain)
		}
	}
	if err := release(t.TempDir(), someOrigin, ""); err == nil || !strings.Contains(err.Error(), "build the packages first") {
		t.Errorf("without packages: %v", err)
	}
}

// checkSums checks that sha256sum accepts the list, and that it has all files that it could.
func checkSums(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "--quiet", checksums.File)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
	sums, err := checksums.Read(dir)
	must(t, err)
	entries, err := os.ReadDir(dir)
	must(t, err)
	unlisted := []string{checksums.File, checksums.File + ".sig", provenanceFile, envelopeFile, publicKeyFile}
	for _, e := range entries {
		listed := slices.ContainsFunc(sums, func(s checksums.Sum) bool { return s.Name == e.Name() })
		if listed == (e.IsDir() || slices.Contains(unlisted, e.Name())) {
			t.Errorf("%s: in %s: %t", e.Name(), checksums.File, listed)
		}
	}
}

func checkFormula(t *testing.T, dir, version string) {
	t.Helper()
	f := string(read(t, dir, "holdfast.rb"))
	sums, err := checksums.Read(dir)
	must(t, err)
	found := 0
	for _, s := range sums {
		if strings.HasSuffix(s.Name, ".tar.gz") && (strings.Contains(s.Name, "_darwin_") || strings.Contains(s.Name, "_linux_")) {
			found++
			if want := "/releases/download/v" + version + "/" + s.Name + "\"\n      sha256 \"" + s.SHA256 + `"`; !strings.Contains(f, want) {
				t.Errorf("the formula lacks %s", want)
			}
		}
	}
	if found != 4 || strings.Count(f, "sha256 ") != 4 || strings.Count(f, "\n  end\n")+strings.Count(f, "\n    end\n") != 8 {
		t.Errorf("the formula has other archives than the %d of the release:\n%s", found, f)
	}
}

func checkProvenance(t *testing.T, dir, version string) {
	t.Helper()
	var s statement
	must(t, json.Unmarshal(read(t, dir, provenanceFile), &s))
	sums, err := checksums.Read(dir)
	must(t, err)
	if len(s.Subject) != len(sums) {
		t.Errorf("the provenance has %d subjects, want %d", len(s.Subject), len(sums))
	}
	for i, sum := range sums {
		if s.Subject[i].Name != sum.Name || s.Subject[i].Digest["sha256"] != sum.SHA256 {
			t.Errorf("subject %d is %+v, want %+v", i, s.Subject[i], sum)
		}
	}
	definition := s.Predicate.BuildDefinition
	if definition.ExternalParameters["version"] != version || len(definition.ResolvedDependencies) != 2 ||
		!strings.HasSuffix(definition.ResolvedDependencies[0].URI, "@refs/tags/v"+version) || s.Predicate.RunDetails.Builder.ID == "" {
		t.Errorf("predicate %+v", s.Predicate)
	}
}

// checkSignatures verifies with openssl what is signed, and that it accepts nothing else.
func checkSignatures(t *testing.T, dir string) {
	t.Helper()
	var e envelope
	must(t, json.Unmarshal(read(t, dir, envelopeFile), &e))
	if string(e.Payload) != string(read(t, dir, provenanceFile)) || e.PayloadType != payloadType || len(e.Signatures) != 1 {
		t.Errorf("the envelope holds another statement than %s", provenanceFile)
	}
	work := t.TempDir()
	signed := fmt.Sprintf("DSSEv1 28 application/vnd.in-toto+json %d %s", len(e.Payload), e.Payload)
	must(t, os.WriteFile(filepath.Join(work, "encoded"), []byte(signed), 0o600))
	must(t, os.WriteFile(filepath.Join(work, "encoded.sig"), e.Signatures[0].Sig, 0o600))
	for _, signed := range []string{filepath.Join(dir, checksums.File), filepath.Join(work, "encoded")} {
		args := []string{"dgst", "-sha256", "-verify", filepath.Join(dir, publicKeyFile), "-signature", signed + ".sig"}
		if out := openssl(t, work, append(args, signed)...); !strings.Contains(out, "Verified OK") {
			t.Errorf("%s: %s", signed, out)
		}
		other := filepath.Join(work, "other")
		must(t, os.WriteFile(other, append(read(t, signed), '\n'), 0o600))
		if out, err := exec.CommandContext(t.Context(), "openssl", append(args, other)...).CombinedOutput(); err == nil {
			t.Errorf("the signature of %s is accepted for another file: %s", signed, out)
		}
	}
}
