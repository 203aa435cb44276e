package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// member is a file of an archive.
type member struct {
	name string // with slashes, below the folder of the archive
	from string
	mode fs.FileMode
}

// writeArchive writes a zip for Windows and a compressed tar for other systems.
func (b *build) writeArchive(t target, program string) error {
	suffix, pack := ".tar.gz", packTar
	if t.os == "windows" {
		suffix, pack = ".zip", packZip
	}
	members, err := b.members(t, program)
	if err != nil {
		return err
	}
	name := b.file(t, suffix)
	var content bytes.Buffer
	if err := pack(&content, strings.TrimSuffix(filepath.Base(name), suffix), members, b.time); err != nil {
		return err
	}
	return write(name, content.Bytes(), 0o644)
}

func (b *build) members(t target, program string) ([]member, error) {
	members := []member{
		{t.binary(), program, 0o755},
		{"LICENSE", "../LICENSE", 0o644},
		{noticesFile, filepath.Join(b.dir, noticesFile), 0o644},
		{"README.md", "../README.md", 0o644},
		{"CHANGELOG.md", "../CHANGELOG.md", 0o644},
	}
	if t.os == "linux" {
		members = append(members, member{"holdfast.service", "linux/holdfast.service", 0o644})
	}
	for _, c := range completions {
		members = append(members, member{"completions/" + c.file, filepath.Join(b.work, "completions", c.file), 0o644})
	}
	pages, err := filepath.Glob(filepath.Join(b.work, "man", "*.1"))
	for _, p := range pages {
		members = append(members, member{"man/" + filepath.Base(p), p, 0o644})
	}
	return members, err
}

func packTar(archive *bytes.Buffer, folder string, members []member, at time.Time) error {
	z, err := gzip.NewWriterLevel(archive, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, m := range members {
		content, err := os.ReadFile(m.from)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path.Join(folder, m.name), Mode: int64(m.mode), Size: int64(len(content)),
			ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return z.Close()
}

func packZip(archive *bytes.Buffer, folder string, members []member, at time.Time) error {
	w := zip.NewWriter(archive)
	for _, m := range members {
		content, err := os.ReadFile(m.from)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: path.Join(folder, m.name), Method: zip.Deflate, Modified: at}
		header.SetMode(m.mode)
		f, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := f.Write(content); err != nil {
			return err
		}
	}
	return w.Close()
}
