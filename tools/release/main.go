// Command release turns a copy of the repository into that of a version: each go.mod requires the other
// modules of Holdfast at this version in place of a folder, each go.sum has their hashes, and the packages
// of the other clients have the version. It prints the tags of the version, one a line, in the order in
// which they are to be pushed; that of the repository has no folder.
//
// With -proxy it also writes the modules to a folder that serves as a GOPROXY, and with -notes the section
// of the version in CHANGELOG.md to a file.
//
// Run it from its own module: cd tools && go run ./release [-proxy dir] [-notes file] dir version
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

const root = "github.com/holdfast-io/holdfast"

func main() {
	proxy := flag.String("proxy", "", "`directory` to write the modules to; empty: none")
	notes := flag.String("notes", "", "`file` to write the section of CHANGELOG.md to; empty: it may be missing")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: release [-proxy dir] [-notes file] dir version")
		os.Exit(2)
	}
	tags, err := release(flag.Arg(0), flag.Arg(1), *proxy, *notes)
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
	for _, tag := range tags {
		_, _ = fmt.Fprintln(os.Stdout, tag)
	}
}

// parseVersion returns a version as Go's modules have it; the v may be missing.
func parseVersion(text string) (string, error) {
	version := "v" + strings.TrimPrefix(text, "v")
	if semver.Canonical(version) != version || !versionForm.MatchString(version) {
		return "", fmt.Errorf("version %q: want 0.y.z or 1.y.z, and for one before it -alpha.n, -beta.n or -rc.n", text)
	}
	return version, nil
}

// release prepares the tree and returns the tags.
func release(tree, text, proxy, notesFile string) (tags []string, err error) {
	version, err := parseVersion(text)
	if err != nil {
		return nil, err
	}
	if notesFile != "" {
		if err := writeNotes(tree, version, notesFile); err != nil {
			return nil, err
		}
	}
	if err := stampClients(tree, version); err != nil {
		return nil, err
	}
	if proxy == "" {
		if proxy, err = os.MkdirTemp("", "release-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(proxy)) }()
	}
	folders, err := modules(tree)
	if err != nil {
		return nil, err
	}
	r := releaser{tree: tree, version: version, proxy: proxy, sums: map[string][2]string{}}
	for _, folder := range folders {
		if err := r.release(folder); err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		tags = append(tags, path.Join(folder, version))
	}
	return tags, nil
}

// modules returns the folders of the modules, each after those that it requires.
func modules(tree string) ([]string, error) {
	folders := []string{"messages", "clients"}
	for _, group := range []string{"clients/fence", "clients/adapters"} {
		found, err := filepath.Glob(filepath.Join(tree, group, "*/go.mod"))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			folders = append(folders, path.Join(group, filepath.Base(filepath.Dir(f))))
		}
	}
	return append(folders, "clients/holdfast/holdfastotel", ".", "cmd/holdfast/holdfasttest", "cmd/holdfast/otel"), nil
}

type releaser struct {
	tree, version, proxy string
	sums                 map[string][2]string // of each released module: its zip's and its go.mod's
}

// release prepares one module, and writes it to the proxy.
func (r *releaser) release(folder string) error {
	dir := filepath.Join(r.tree, folder)
	mod, required, err := r.require(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	if err := r.sum(filepath.Join(dir, "go.sum"), required); err != nil {
		return err
	}
	m := module.Version{Path: path.Join(root, folder), Version: r.version}
	sum, err := r.publish(m, dir, mod)
	if err != nil {
		return err
	}
	r.sums[m.Path] = sum
	return nil
}

// require drops the replacements in a go.mod, and returns the modules that it requires at the version.
func (r *releaser) require(name string) (mod []byte, required []string, err error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := modfile.Parse(name, content, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, replaced := range slices.Clone(f.Replace) {
		if replaced.Old.Path != root && !strings.HasPrefix(replaced.Old.Path, root+"/") {
			return nil, nil, fmt.Errorf("%s is replaced, which those who require this module would not see",
				replaced.Old.Path)
		}
		required = append(required, replaced.Old.Path)
		if err := f.AddRequire(replaced.Old.Path, r.version); err != nil {
			return nil, nil, err
		}
		if err := f.DropReplace(replaced.Old.Path, replaced.Old.Version); err != nil {
			return nil, nil, err
		}
	}
	f.Cleanup()
	if mod, err = f.Format(); err != nil {
		return nil, nil, err
	}
	return mod, required, os.WriteFile(name, mod, 0o644)
}

// sum adds the hashes of the required modules to a go.sum.
func (r *releaser) sum(name string, required []string) error {
	content, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	lines := slices.Collect(strings.Lines(string(content)))
	for _, p := range required {
		sums, ok := r.sums[p]
		if !ok {
			return fmt.Errorf("it requires %s, which is not released before it", p)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s\n", p, r.version, sums[0]),
			fmt.Sprintf("%s %s/go.mod %s\n", p, r.version, sums[1]))
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		pathA, _, _ := strings.Cut(a, " ")
		pathB, _, _ := strings.Cut(b, " ")
		return cmp.Compare(pathA, pathB)
	})
	if len(lines) == 0 {
		return nil
	}
	return os.WriteFile(name, []byte(strings.Join(lines, "")), 0o644)
}

// publish writes a module to the proxy and returns its hashes.
func (r *releaser) publish(m module.Version, dir string, mod []byte) (sums [2]string, err error) {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return sums, err
	}
	versions := filepath.Join(r.proxy, escaped, "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		return sums, err
	}
	archive := filepath.Join(versions, m.Version+".zip")
	if err := r.archive(m, dir, archive); err != nil {
		return sums, err
	}
	if sums[0], err = dirhash.HashZip(archive, dirhash.Hash1); err != nil {
		return sums, err
	}
	openMod := func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(mod)), nil }
	if sums[1], err = dirhash.Hash1([]string{"go.mod"}, openMod); err != nil {
		return sums, err
	}
	return sums, errors.Join(
		os.WriteFile(filepath.Join(versions, m.Version+".mod"), mod, 0o644),
		os.WriteFile(filepath.Join(versions, m.Version+".info"), fmt.Appendf(nil, `{"Version":%q}`, m.Version), 0o644),
		os.WriteFile(filepath.Join(versions, "list"), []byte(m.Version+"\n"), 0o644))
}

// archive writes the zip of a module as the go command makes it of a tag: a module in a folder has the
// licence of the repository.
func (r *releaser) archive(m module.Version, dir, name string) error {
	licence := filepath.Join(dir, "LICENSE")
	if _, err := os.Stat(licence); errors.Is(err, os.ErrNotExist) {
		if err := os.Link(filepath.Join(r.tree, "LICENSE"), licence); err != nil {
			return err
		}
		defer func() { _ = os.Remove(licence) }()
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromDir(f, m, dir), f.Close())
}
