package oci_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/packaging/oci"
)

// Each blob is named after its digest, and the index leads to the manifest by its tag. Blobs that are the same are stored
// once, in an order that does not depend on that in which they were added.
func TestArchive(t *testing.T) {
	contents := []string{"one", "two", "three", "two"}
	archive := func(contents []string) []byte {
		var l oci.Layout
		for _, c := range contents {
			l.Add(oci.TypeLayer, []byte(c))
		}
		top, err := l.AddJSON(oci.TypeManifest, oci.Manifest{SchemaVersion: 2, MediaType: oci.TypeManifest})
		if err != nil {
			t.Fatal(err)
		}
		content, err := l.Archive(top, "example.com/it", "1.2.3", time.Unix(7, 0))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	files := map[string][]byte{}
	first := archive(contents)
	for r := tar.NewReader(bytes.NewReader(first)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		content, readErr := io.ReadAll(r)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(time.Unix(7, 0)) || header.Uid != 0 || files[header.Name] != nil {
			t.Errorf("%+v", header)
		}
		files[header.Name] = content
	}
	var index oci.Index
	if err := json.Unmarshal(files["index.json"], &index); err != nil || len(index.Manifests) != 1 {
		t.Fatalf("index %+v, %v", index, err)
	}
	top := index.Manifests[0]
	if top.Annotations["org.opencontainers.image.ref.name"] != "1.2.3" ||
		top.Annotations["io.containerd.image.name"] != "example.com/it:1.2.3" {
		t.Errorf("annotations %q", top.Annotations)
	}
	var manifest oci.Manifest
	content := files["blobs/sha256/"+top.Digest[len("sha256:"):]]
	if err := json.Unmarshal(content, &manifest); err != nil || int64(len(content)) != top.Size {
		t.Errorf("manifest %s: %v, want %d bytes", content, err, top.Size)
	}
	for _, c := range contents {
		if name := fmt.Sprintf("blobs/sha256/%x", sha256.Sum256([]byte(c))); string(files[name]) != c {
			t.Errorf("%s holds %q, want %q", name, files[name], c)
		}
	}
	if string(files["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` || len(files) != 6 {
		t.Errorf("%d files: %q", len(files), files)
	}
	if !bytes.Equal(first, archive([]string{"three", "one", "two"})) {
		t.Error("another order gives other bytes")
	}
}
