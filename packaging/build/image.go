package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/packaging/oci"
)

const repository = "https://github.com/holdfast-io/holdfast"

// imageUser is the number of the user as which the image runs. It has no name: the image has no users.
const imageUser = 65532

// imageConfig is the configuration of an image, as the specification of the Open Container Initiative has it.
type imageConfig struct {
	Created      time.Time `json:"created"`
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Config       struct {
		User         string
		ExposedPorts map[string]struct{}
		Entrypoint   []string
		Cmd          []string
		Volumes      map[string]struct{}
		WorkingDir   string
		Labels       map[string]string
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"` // of the layers, before compression
	} `json:"rootfs"`
}

// writeImage writes one index with an image of each of the platforms that are Linux; nothing without one.
func (b *build) writeImage(chosen []target) error {
	var layout oci.Layout
	index := oci.Index{SchemaVersion: 2, MediaType: oci.TypeIndex, Annotations: b.annotations()}
	for _, t := range chosen {
		if t.os != "linux" {
			continue
		}
		image, err := b.addImage(&layout, t)
		if err != nil {
			return err
		}
		index.Manifests = append(index.Manifests, image)
	}
	if len(index.Manifests) == 0 {
		return nil
	}
	top, err := layout.AddJSON(oci.TypeIndex, index)
	if err != nil {
		return err
	}
	return b.writeLayout(&layout, top, "image", "holdfast")
}

// registry is where the image and the chart are published.
const registry = "ghcr.io/holdfast-io/"

// writeLayout writes a layout as holdfast_VERSION_KIND.oci.tar. Its tag is the version; a tag has no plus sign.
func (b *build) writeLayout(layout *oci.Layout, top oci.Descriptor, kind, name string) error {
	archive, err := layout.Archive(top, registry+name, strings.ReplaceAll(b.version.semantic, "+", "_"), b.time)
	if err != nil {
		return err
	}
	file := fmt.Sprintf("holdfast_%s_%s.oci.tar", b.version.semantic, kind)
	return write(filepath.Join(b.dir, file), archive, 0o644)
}

func (b *build) annotations() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "holdfast",
		"org.opencontainers.image.description": "Lock service over NATS with fencing tokens",
		"org.opencontainers.image.version":     b.version.semantic,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.source":      repository,
		"org.opencontainers.image.created":     b.time.Format(time.RFC3339),
	}
}

// addImage adds the image of one platform: a program that needs no other file, so it has one layer.
func (b *build) addImage(layout *oci.Layout, t target) (oci.Descriptor, error) {
	files, err := b.layer(t)
	if err != nil {
		return oci.Descriptor{}, err
	}
	var compressed bytes.Buffer
	z, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return oci.Descriptor{}, err
	}
	if _, err := z.Write(files); err != nil {
		return oci.Descriptor{}, err
	}
	if err := z.Close(); err != nil {
		return oci.Descriptor{}, err
	}
	config := imageConfig{Created: b.time, Architecture: t.arch, OS: t.os}
	config.Config.User = fmt.Sprintf("%d:%[1]d", imageUser)
	config.Config.ExposedPorts = map[string]struct{}{"4222/tcp": {}, "6222/tcp": {}}
	config.Config.Entrypoint, config.Config.Cmd = []string{"/usr/bin/holdfast"}, []string{"serve"}
	config.Config.WorkingDir = "/" // the default of --data is ./data
	config.Config.Volumes = map[string]struct{}{"/data": {}}
	config.Config.Labels = b.annotations()
	config.RootFS.Type = "layers"
	config.RootFS.DiffIDs = []string{fmt.Sprintf("sha256:%x", sha256.Sum256(files))}
	manifest := oci.Manifest{SchemaVersion: 2, MediaType: oci.TypeManifest, Annotations: b.annotations()}
	if manifest.Config, err = layout.AddJSON(oci.TypeConfig, config); err != nil {
		return oci.Descriptor{}, err
	}
	manifest.Layers = []oci.Descriptor{layout.Add(oci.TypeLayer, compressed.Bytes())}
	image, err := layout.AddJSON(oci.TypeManifest, manifest)
	image.Platform = &oci.Platform{Architecture: t.arch, OS: t.os}
	return image, err
}

// layer returns the files of the image: the program, its licences and a folder for the data, which its user owns.
func (b *build) layer(t target) ([]byte, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range []struct {
		name, from string // without from, a folder
		mode       int64
		user       int
	}{
		{name: "data/", mode: 0o755, user: imageUser},
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/holdfast", from: b.program(t), mode: 0o755},
		{name: "usr/share/", mode: 0o755},
		{name: "usr/share/doc/", mode: 0o755},
		{name: "usr/share/doc/holdfast/", mode: 0o755},
		{name: "usr/share/doc/holdfast/LICENSE", from: "../LICENSE", mode: 0o644},
		{name: "usr/share/doc/holdfast/NOTICES", from: filepath.Join(b.dir, noticesFile), mode: 0o644},
	} {
		header := &tar.Header{Name: f.name, Typeflag: tar.TypeDir, Mode: f.mode, Uid: f.user, Gid: f.user, ModTime: b.time,
			Format: tar.FormatUSTAR}
		var content []byte
		if f.from != "" {
			var err error
			if content, err = os.ReadFile(f.from); err != nil {
				return nil, err
			}
			header.Typeflag, header.Size = tar.TypeReg, int64(len(content))
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}
