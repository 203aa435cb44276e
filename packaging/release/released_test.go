//go:build linux

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-io/holdfast/packaging/oci"
)

var dist = flag.String("dist", "",
	"`directory` with the release that make release has made; without it the test is skipped")

// released is a release as its users get it.
type released struct {
	dir, number string
	work        string // for everything that is installed from it
	url         string // of a node that was installed from it
}

// Everything of a release works in folders that were empty, and names the same version.
func TestReleased(t *testing.T) {
	if *dist == "" {
		t.Skip("this test needs a release; run it by make release-check")
	}
	bundles, err := filepath.Glob(filepath.Join(*dist, "holdfast_*_tags.bundle"))
	must(t, err)
	if len(bundles) != 1 {
		t.Fatalf("%s has the tags %q, want one bundle", *dist, bundles)
	}
	_, number, _ := strings.Cut(strings.TrimSuffix(filepath.Base(bundles[0]), "_tags.bundle"), "_")
	r := &released{dir: *dist, number: number, work: t.TempDir()}
	r.startNode(t)
	t.Run("documents", r.checkDocuments)
	t.Run("tags", r.checkTags)
	t.Run("image", r.checkImage)
	t.Run("chart", r.checkChart)
	t.Run("modules", r.checkModules)
	t.Run("npm", r.checkNpm)
	t.Run("wheel", r.checkWheel)
	t.Run("maven", r.checkMaven)
	t.Run("publish", r.checkPublish)
}

func (r *released) path(format string, args ...any) string {
	return filepath.Join(r.dir, fmt.Sprintf(format, args...))
}

// run returns what a command prints on both of its outputs.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func want(t *testing.T, output, part string) {
	t.Helper()
	if !strings.Contains(output, part) {
		t.Errorf("it printed %q, want %q", output, part)
	}
}

// folder returns a new folder below that of the test.
func (r *released) folder(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(r.work, name)
	must(t, os.Mkdir(dir, 0o755))
	return dir
}

// program returns the program of the archive of this machine, which is unpacked once.
func (r *released) program() string {
	return filepath.Join(r.work, "archive", fmt.Sprintf("holdfast_%s_linux_%s", r.number, runtime.GOARCH), "holdfast")
}

// startNode unpacks the archive, and serves from it until the test ends.
func (r *released) startNode(t *testing.T) {
	t.Helper()
	dir := r.folder(t, "archive")
	run(t, dir, nil, "tar", "-xzf", r.path("holdfast_%s_linux_%s.tar.gz", r.number, runtime.GOARCH))
	want(t, run(t, dir, nil, r.program(), "version"), "v"+r.number)
	serve := exec.CommandContext(t.Context(), r.program(), "serve", "--listen", "127.0.0.1:0")
	serve.Dir, serve.Stderr = r.folder(t, "node"), os.Stderr
	serve.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	serve.Cancel = func() error { return serve.Process.Signal(syscall.SIGTERM) }
	stdout, err := serve.StdoutPipe()
	must(t, err)
	must(t, serve.Start())
	t.Cleanup(func() { _ = serve.Wait() }) // t.Context() has ended, so it stops
	ready := regexp.MustCompile(`ready: NATS at (nats://\S+),`)
	for lines := bufio.NewScanner(stdout); r.url == "" && lines.Scan(); {
		if m := ready.FindStringSubmatch(lines.Text()); m != nil {
			r.url = m[1]
		}
	}
	if r.url == "" {
		t.Fatal("the node ends before it is ready")
	}
	want(t, run(t, dir, nil, r.program(), "acquire", "archive", "--owner", "me", "--server", r.url), "token 1")
}

func (r *released) checkDocuments(t *testing.T) {
	checkSums(t, r.dir)
	checkFormula(t, r.dir, r.number)
	checkProvenance(t, r.dir, r.number)
	want(t, string(read(t, r.path("holdfast_%s_changelog.md", r.number))), r.number)
	if _, err := os.Stat(filepath.Join(r.dir, publicKeyFile)); errors.Is(err, os.ErrNotExist) {
		t.Skip("the release is not signed")
	}
	checkSignatures(t, r.dir)
}

// checkTags gets the tags as those do who publish them: there is one for each module, they name the commit of the
// provenance, and the files there have the version.
func (r *released) checkTags(t *testing.T) {
	clone := filepath.Join(r.work, "clone")
	run(t, r.work, nil, "git", "clone", "--quiet", "--no-tags", "--no-checkout", repositoryRoot(t), clone)
	bundle := r.path("holdfast_%s_tags.bundle", r.number)
	run(t, clone, nil, "git", "fetch", "--quiet", bundle, "refs/tags/*:refs/tags/*")
	var tags []string
	for tag := range strings.FieldsSeq(run(t, clone, nil, "git", "tag")) {
		tags = append(tags, tag)
	}
	var s statement
	must(t, json.Unmarshal(read(t, r.dir, provenanceFile), &s))
	commit := s.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"]
	modules, err := filepath.Glob(r.path("modules/github.com/holdfast-io/*"))
	must(t, err)
	if len(modules) == 0 {
		t.Error("there are no modules")
	}
	var wanted []string
	root := r.path("modules/%s", "github.com/holdfast-io/holdfast")
	must(t, filepath.WalkDir(root, func(name string, _ os.DirEntry, err error) error {
		if filepath.Base(name) == "v"+r.number+".mod" {
			folder, err := filepath.Rel(root, filepath.Dir(filepath.Dir(name)))
			must(t, err)
			wanted = append(wanted, path.Join(filepath.ToSlash(folder), "v"+r.number))
		}
		return err
	}))
	slices.Sort(wanted)
	slices.Sort(tags)
	if !slices.Equal(tags, wanted) || len(tags) < 5 {
		t.Errorf("tags %q, modules %q", tags, wanted)
	}
	for _, tag := range tags {
		if got := strings.TrimSpace(run(t, clone, nil, "git", "rev-parse", tag+"^{commit}")); got != commit {
			t.Errorf("%s is %s, the provenance has %s", tag, got, commit)
		}
	}
	show := func(name string) string { return run(t, clone, nil, "git", "show", "v"+r.number+":"+name) }
	want(t, show("go.mod"), "github.com/holdfast-io/holdfast/messages v"+r.number+"\n")
	want(t, show("clients/typescript/package.json"), `"version": "`+r.number+`"`)
	want(t, show("clients/java/pom.xml"), "<version>"+r.number+"</version>")
}

func repositoryRoot(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(run(t, ".", nil, "git", "rev-parse", "--show-toplevel"))
}

// blobs returns the files of a layout, and the blob that its index leads to.
func blobs(t *testing.T, name string) (files map[string][]byte, top []byte, tag string) {
	t.Helper()
	files = unpack(t, bytes.NewReader(read(t, name)))
	var index oci.Index
	must(t, json.Unmarshal(files["index.json"], &index))
	if len(index.Manifests) != 1 {
		t.Fatalf("%s: index %+v", name, index)
	}
	d := index.Manifests[0]
	return files, blob(t, files, d), d.Annotations["org.opencontainers.image.ref.name"]
}

func blob(t *testing.T, files map[string][]byte, d oci.Descriptor) []byte {
	t.Helper()
	content := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); got != d.Digest || int64(len(content)) != d.Size {
		t.Fatalf("the blob %s has the digest %s and %d bytes, want %d", d.Digest, got, len(content), d.Size)
	}
	return content
}

func unpack(t *testing.T, archive io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		must(t, err)
		files[header.Name], err = io.ReadAll(r)
		must(t, err)
	}
}

func unzip(t *testing.T, content []byte) io.Reader {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(content))
	must(t, err)
	return z
}

// checkImage checks that the image is one index of two architectures, which have the programs of the archives.
func (r *released) checkImage(t *testing.T) {
	files, top, tag := blobs(t, r.path("holdfast_%s_image.oci.tar", r.number))
	var index oci.Index
	must(t, json.Unmarshal(top, &index))
	var platforms []oci.Platform
	for _, d := range index.Manifests {
		platforms = append(platforms, *d.Platform)
		var manifest oci.Manifest
		must(t, json.Unmarshal(blob(t, files, d), &manifest))
		var config struct{ Architecture, OS string }
		must(t, json.Unmarshal(blob(t, files, manifest.Config), &config))
		if config.Architecture != d.Platform.Architecture || config.OS != d.Platform.OS || len(manifest.Layers) != 1 {
			t.Errorf("the image of %+v is of %+v and has %d layers", d.Platform, config, len(manifest.Layers))
		}
		layer := unpack(t, unzip(t, blob(t, files, manifest.Layers[0])))
		name := fmt.Sprintf("holdfast_%s_linux_%s", r.number, config.Architecture)
		archive := unpack(t, unzip(t, read(t, r.path("%s.tar.gz", name))))
		if program := layer["usr/bin/holdfast"]; len(program) == 0 || !bytes.Equal(program, archive[name+"/holdfast"]) {
			t.Errorf("the image of %+v has another program than the archive", d.Platform)
		}
	}
	both := []oci.Platform{{Architecture: "amd64", OS: "linux"}, {Architecture: "arm64", OS: "linux"}}
	if !slices.Equal(platforms, both) {
		t.Errorf("the image is for %+v", platforms)
	}
	if tag != r.number {
		t.Errorf("the image has the tag %s", tag)
	}
}

// checkChart checks that the artifact is the packed chart, with its description.
func (r *released) checkChart(t *testing.T) {
	files, top, tag := blobs(t, r.path("holdfast_%s_chart.oci.tar", r.number))
	var manifest oci.Manifest
	must(t, json.Unmarshal(top, &manifest))
	var chart struct{ Name, Version, AppVersion string }
	must(t, json.Unmarshal(blob(t, files, manifest.Config), &chart))
	if chart.Name != "holdfast" || chart.Version != r.number || chart.AppVersion != r.number || tag != r.number {
		t.Errorf("the chart is %+v, and has the tag %s", chart, tag)
	}
	packed := read(t, r.path("holdfast-%s.tgz", r.number))
	if len(manifest.Layers) != 1 || !bytes.Equal(blob(t, files, manifest.Layers[0]), packed) {
		t.Error("the artifact is not the packed chart")
	}
	want(t, string(unpack(t, unzip(t, packed))["holdfast/Chart.yaml"]), "\nversion: "+r.number+"\n")
}

// checkModules builds the program of an application, which gets the modules of the release from their folder, and
// installs the command of the server in the same way.
func (r *released) checkModules(t *testing.T) {
	dir := r.folder(t, "go")
	must(t, os.WriteFile(filepath.Join(dir, "main.go"), read(t, "testdata/acquire.go"), 0o644))
	known := strings.Fields(run(t, dir, nil, "go", "env", "GOMODCACHE", "GOPROXY"))
	env := []string{
		"GOPROXY=file://" + r.path("modules") + ",file://" + known[0] + "/cache/download," + known[1],
		"GOMODCACHE=" + r.folder(t, "cache"), "GONOSUMDB=" + strings.TrimPrefix(repository, "https://"),
		"GOFLAGS=-modcacherw -trimpath", "GOWORK=off",
	}
	run(t, dir, env, "go", "mod", "init", "example.com/application")
	run(t, dir, env, "go", "get", strings.TrimPrefix(repository, "https://")+"/clients@v"+r.number)
	run(t, dir, env, "go", "mod", "tidy")
	want(t, run(t, dir, env, "go", "run", ".", r.url, "modules"), "token 000000000000001\n")
	run(t, dir, append(env, "GOBIN="+dir), "go", "install", "-n",
		strings.TrimPrefix(repository, "https://")+"/cmd/holdfast@v"+r.number)
}

func (r *released) checkNpm(t *testing.T) {
	dir := r.folder(t, "npm")
	must(t, os.WriteFile(filepath.Join(dir, "acquire.mjs"), read(t, "testdata/acquire.mjs"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private": true}`), 0o644))
	run(t, dir, nil, "npm", "install", "--no-audit", "--no-fund", r.path("holdfast-io-client-%s.tgz", r.number),
		"@nats-io/nats-core", "@nats-io/transport-node")
	want(t, run(t, dir, nil, "node", "acquire.mjs", r.url, "npm"), "token 1\n")
	want(t, string(read(t, dir, "node_modules/@holdfast-io/client/package.json")), `"version": "`+r.number+`"`)
}

func (r *released) checkWheel(t *testing.T) {
	dir := r.folder(t, "wheel")
	wheels, err := filepath.Glob(r.path("holdfast_client-*-py3-none-any.whl"))
	must(t, err)
	if len(wheels) != 1 {
		t.Fatalf("there are the wheels %q", wheels)
	}
	version := strings.Split(filepath.Base(wheels[0]), "-")[1]
	if normal := regexp.MustCompile(`-(alpha|beta|rc)\.`).ReplaceAllStringFunc(r.number, func(pre string) string {
		return map[string]string{"-alpha.": "a", "-beta.": "b", "-rc.": "rc"}[pre]
	}); version != normal {
		t.Errorf("the wheel has the version %s, want %s", version, normal)
	}
	if _, err := os.Stat(r.path("holdfast_client-%s.tar.gz", version)); err != nil {
		t.Error(err)
	}
	run(t, dir, nil, "python3", "-m", "venv", "venv")
	run(t, dir, nil, "venv/bin/pip", "install", "-q", "--disable-pip-version-check", wheels[0])
	must(t, os.WriteFile(filepath.Join(dir, "acquire.py"), read(t, "testdata/acquire.py"), 0o644))
	out := run(t, dir, nil, "venv/bin/python", "acquire.py", r.url, "wheel")
	want(t, out, "token 1\n")
	want(t, out, "version "+version+"\n")
}

// checkPublish checks that each file which the script would publish is there, and that it publishes nothing unasked.
// checkMaven builds an application whose only repository besides those of the user has the artifacts of the release, and
// has it write by the guard of files. Each artifact has the files that Maven Central wants.
func (r *released) checkMaven(t *testing.T) {
	dir, artifacts := r.folder(t, "maven"), r.folder(t, "artifacts")
	run(t, artifacts, nil, "tar", "-xzf", r.path("holdfast_%s_maven.tar.gz", r.number))
	for _, artifact := range []string{"parent", "bom", "client", "junit", "shedlock", "spring"} {
		base := fmt.Sprintf("%s/io/github/holdfast-io/holdfast-%s/%s/holdfast-%[2]s-%[3]s", artifacts, artifact, r.number)
		kinds := []string{".pom"}
		if artifact != "parent" && artifact != "bom" {
			kinds = append(kinds, ".jar", "-sources.jar", "-javadoc.jar")
		}
		for _, kind := range kinds {
			content := read(t, base+kind)
			if sum := strings.TrimSpace(string(read(t, base+kind+".sha1"))); sum != fmt.Sprintf("%x", sha1.Sum(content)) {
				t.Errorf("%s%s has the SHA-1 %s", base, kind, sum)
			}
			if sum := strings.TrimSpace(string(read(t, base+kind+".md5"))); sum != fmt.Sprintf("%x", md5.Sum(content)) {
				t.Errorf("%s%s has the MD5 %s", base, kind, sum)
			}
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "pom.xml"), read(t, "testdata/pom.xml"), 0o644))
	must(t, os.MkdirAll(filepath.Join(dir, "src/main/java"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "src/main/java/Acquire.java"), read(t, "testdata/Acquire.java"), 0o644))
	run(t, dir, nil, "mvn", "-B", "-q", "-Dmaven.repo.local="+r.folder(t, "m2"), "-Dholdfast="+r.number,
		"-Dartifacts=file://"+artifacts, "package")
	out := run(t, dir, nil, "java", "-cp", "target/classes:target/dependency/*", "Acquire", r.url, "maven")
	want(t, out, "token 1\n")
	want(t, string(read(t, dir, "written/maven.txt")), "token 1")
}

func (r *released) checkPublish(t *testing.T) {
	out := run(t, repositoryRoot(t), nil, "bash", ".ci/publish", r.dir)
	named := map[string]bool{}
	for word := range strings.FieldsSeq(out) {
		if name, _, _ := strings.Cut(word, ".tar:"); strings.HasPrefix(word, r.dir) {
			if name != word {
				name += ".tar"
			}
			named[filepath.Base(name)] = true
			if _, err := os.Stat(name); err != nil {
				t.Errorf("the script publishes what is not there: %v", err)
			}
		}
	}
	entries, err := os.ReadDir(r.dir)
	must(t, err)
	for _, e := range entries {
		if !e.IsDir() && !named[e.Name()] {
			t.Errorf("the script does not publish %s", e.Name())
		}
	}
	for _, program := range []string{"git push --atomic origin ", "gh release create v" + r.number, "npm publish ",
		"twine upload ", "gpg ", "https://central.sonatype.com/", "ghcr.io/holdfast-io/holdfast:" + r.number,
		"ghcr.io/holdfast-io/charts/holdfast:" + r.number} {
		want(t, out, program)
	}
}
