// Package oci writes images and other artifacts as an archive of the layout of the Open Container Initiative, from which
// registries are filled: https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md. The same content
// gives the same bytes.
package oci

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Types of what an index and a manifest refer to.
const (
	TypeIndex    = "application/vnd.oci.image.index.v1+json"
	TypeManifest = "application/vnd.oci.image.manifest.v1+json"
	TypeConfig   = "application/vnd.oci.image.config.v1+json"
	TypeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// Descriptor refers to a blob by its digest.
type Descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *Platform         `json:"platform,omitempty"` // nil: any
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Platform has Go's names.
type Platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// Index lists manifests, or other indexes.
type Index struct {
	SchemaVersion int               `json:"schemaVersion"` // 2
	MediaType     string            `json:"mediaType"`
	Manifests     []Descriptor      `json:"manifests"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// Manifest is one image, or another artifact.
type Manifest struct {
	SchemaVersion int               `json:"schemaVersion"` // 2
	MediaType     string            `json:"mediaType"`
	Config        Descriptor        `json:"config"`
	Layers        []Descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// Layout collects blobs. The zero value is empty.
type Layout struct{ blobs map[string][]byte }

// Add adds a blob of a type.
func (l *Layout) Add(mediaType string, content []byte) Descriptor {
	digest := fmt.Sprintf("%x", sha256.Sum256(content))
	if l.blobs == nil {
		l.blobs = map[string][]byte{}
	}
	l.blobs[digest] = content
	return Descriptor{MediaType: mediaType, Digest: "sha256:" + digest, Size: int64(len(content))}
}

// AddJSON adds a value as JSON.
func (l *Layout) AddJSON(mediaType string, value any) (Descriptor, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return Descriptor{}, err
	}
	return l.Add(mediaType, content), nil
}

// Archive returns the layout as a tar, whose files have the time. Top gets the tag, by which the layout
// refers to it, and the name, which programs that load the archive give it.
func (l *Layout) Archive(top Descriptor, name, tag string, at time.Time) ([]byte, error) {
	top.Annotations = map[string]string{"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": name + ":" + tag}
	index, err := json.Marshal(Index{SchemaVersion: 2, MediaType: TypeIndex, Manifests: []Descriptor{top}})
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	add := func(name string, content []byte) error {
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	err = errors.Join(add("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)), add("index.json", index))
	for _, digest := range slices.Sorted(maps.Keys(l.blobs)) {
		err = errors.Join(err, add("blobs/sha256/"+digest, l.blobs[digest]))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}
