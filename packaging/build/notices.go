package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// noticesFile holds the licence of Holdfast and of everything that is linked on any platform.
const noticesFile = "NOTICES"

// linked is a package that is part of the program, as go list shows it.
type linked struct {
	ImportPath, Dir string
	Standard        bool
	Module          *struct{ Path, Version, Dir string }
}

func (b *build) writeNotices(ctx context.Context) error {
	texts := map[string][]byte{} // by "module version, file"
	for _, t := range targets {
		list, err := output(ctx, append(t.env(), "CGO_ENABLED=0"), "go", "list", "-C", "..", "-deps",
			"-json=ImportPath,Dir,Standard,Module", "./cmd/holdfast")
		if err != nil {
			return err
		}
		for d := json.NewDecoder(bytes.NewReader(list)); ; {
			var p linked
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return err
			}
			if err := p.addNotices(texts); err != nil {
				return err
			}
		}
	}
	root, err := output(ctx, nil, "go", "env", "GOROOT", "GOVERSION")
	if err != nil {
		return err
	}
	goroot, goversion, _ := strings.Cut(strings.TrimSpace(string(root)), "\n")
	if texts["The Go standard library "+goversion+", LICENSE"],
		err = os.ReadFile(filepath.Join(goroot, "LICENSE")); err != nil {
		return err
	}
	own, err := os.ReadFile("../LICENSE")
	if err != nil {
		return err
	}
	return write(filepath.Join(b.dir, noticesFile), joinNotices(own, texts), 0o644)
}

// joinNotices returns one document. A text that several modules have is in it once.
func joinNotices(own []byte, texts map[string][]byte) []byte {
	var document bytes.Buffer
	fmt.Fprintf(&document, "Holdfast is under this licence:\n\n%s\n", bytes.TrimSpace(own))
	titles := map[string][]string{string(bytes.TrimSpace(own)): nil}
	var order []string
	for _, title := range slices.Sorted(maps.Keys(texts)) {
		text := string(bytes.TrimSpace(texts[title]))
		if _, known := titles[text]; !known {
			order = append(order, text)
		}
		titles[text] = append(titles[text], title)
	}
	if same := titles[string(bytes.TrimSpace(own))]; len(same) > 0 {
		fmt.Fprintf(&document, "\nThe program contains the following works, under the licence above:\n\n%s\n",
			strings.Join(same, "\n"))
	}
	for _, text := range order {
		fmt.Fprintf(&document, "\n%s\n\nThe program contains the following works, under this text:\n\n%s\n\n%s\n",
			strings.Repeat("=", 80), strings.Join(titles[text], "\n"), text)
	}
	return document.Bytes()
}

var noticeName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([-_.].*)?$`)

// addNotices adds the texts in the folders from that of the package up to that of its module. A module without any is
// an error: what may not be distributed must not be packed.
func (p *linked) addNotices(texts map[string][]byte) error {
	if p.Standard || p.Module == nil || strings.HasPrefix(p.Module.Path, "github.com/holdfast-io/holdfast") {
		return nil
	}
	found := false
	for dir := p.Dir; len(dir) >= len(p.Module.Dir); dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !noticeName.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			found = true
			name, err := filepath.Rel(p.Module.Dir, filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			title := fmt.Sprintf("%s %s, %s", p.Module.Path, p.Module.Version, filepath.ToSlash(name))
			if texts[title], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf(
			"%s has no licence: neither the folder of %s nor one above it in the module has a file of such a name",
			p.Module.Path, p.ImportPath)
	}
	return nil
}
