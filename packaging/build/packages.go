package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // each registers its format
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// writePackages writes the packages of Linux distributions, as nfpm.yaml describes them.
func (b *build) writePackages(t target, program string) error {
	stage := filepath.Join(b.work, "stage-"+t.arch)
	if err := b.stage(stage, program); err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm", "apk"} {
		if err := b.writePackage(t, format, stage); err != nil {
			return err
		}
	}
	return nil
}

func (b *build) writePackage(t target, format, stage string) error {
	variables := map[string]string{"ARCH": t.arch, "STAGE": stage, "VERSION": b.version.semantic,
		"VERSION_SCHEMA": "semver"}
	if format == "apk" {
		variables["VERSION"], variables["VERSION_SCHEMA"] = b.version.alpine, "none"
	}
	config, err := nfpm.ParseFileWithEnvMapping("nfpm.yaml", func(name string) string { return variables[name] })
	if err != nil {
		return err
	}
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	info.MTime = b.time
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(nfpm.WithDefaults(info), format); err != nil {
		return err
	}
	var content bytes.Buffer
	if err := packager.Package(info, &content); err != nil {
		return err
	}
	return write(b.file(t, "."+format), content.Bytes(), 0o644)
}

// stage writes a folder usr as it is to be on the disk.
func (b *build) stage(dir, program string) error {
	if err := place(dir, "usr/bin/holdfast", program, 0o755); err != nil {
		return err
	}
	if err := place(dir, "usr/share/doc/holdfast/copyright", filepath.Join(b.dir, noticesFile), 0o644); err != nil {
		return err
	}
	if err := placeCompressed(dir, "usr/share/doc/holdfast/changelog.gz", "../CHANGELOG.md"); err != nil {
		return err
	}
	for _, c := range completions {
		if err := place(dir, c.folder, filepath.Join(b.work, "completions", c.file), 0o644); err != nil {
			return err
		}
	}
	pages, err := filepath.Glob(filepath.Join(b.work, "man", "*.1"))
	if err != nil {
		return err
	}
	for _, p := range pages {
		if err := placeCompressed(dir, "usr/share/man/man1/"+filepath.Base(p)+".gz", p); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(name, b.time, b.time))
	})
}

func place(dir, name, from string, mode fs.FileMode) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	name = filepath.Join(dir, name)
	return errors.Join(write(name, content, mode), os.Chmod(name, mode)) // whatever the umask
}

func placeCompressed(dir, name, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var compressed bytes.Buffer
	z, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(content); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return write(filepath.Join(dir, name), compressed.Bytes(), 0o644)
}
