package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/holdfast-io/holdfast/packaging/oci"
)

const chartFolder = "chart/holdfast"

// writeChart writes the Helm chart with the version of this build, which is also that of the image that it uses.
func (b *build) writeChart() error {
	manifest, err := os.ReadFile(filepath.Join(chartFolder, "Chart.yaml"))
	if err != nil {
		return err
	}
	versioned := strings.ReplaceAll(string(manifest), "ersion: 0.0.0\n", "ersion: "+b.version.semantic+"\n")
	if strings.Count(versioned, ": "+b.version.semantic+"\n") != 2 {
		return fmt.Errorf("%s/Chart.yaml has no version and appVersion of 0.0.0 to replace", chartFolder)
	}
	stamped := filepath.Join(b.work, "Chart.yaml")
	if err := write(stamped, []byte(versioned), 0o644); err != nil {
		return err
	}
	members := []member{{"Chart.yaml", stamped, 0o644}}
	err = filepath.WalkDir(chartFolder, func(name string, d fs.DirEntry, err error) error {
		// The alerts and the dashboard are links to the files of deploy.
		if err == nil && !d.IsDir() && d.Name() != "Chart.yaml" {
			members = append(members, member{filepath.ToSlash(strings.TrimPrefix(name, chartFolder+"/")), name, 0o644})
		}
		return err
	})
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if err := packTar(&content, "holdfast", members, b.time); err != nil {
		return err
	}
	name := filepath.Join(b.dir, "holdfast-"+b.version.semantic+".tgz")
	return errors.Join(write(name, content.Bytes(), 0o644), b.writeArtifact([]byte(versioned), content.Bytes()))
}

// writeArtifact writes the chart as `helm push` stores it in a registry of images: the description is the
// configuration, the packed chart the only layer.
func (b *build) writeArtifact(manifest, packed []byte) error {
	description, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		return fmt.Errorf("%s/Chart.yaml: %w", chartFolder, err)
	}
	var layout oci.Layout
	artifact := oci.Manifest{SchemaVersion: 2, MediaType: oci.TypeManifest, Annotations: b.annotations(),
		Config: layout.Add("application/vnd.cncf.helm.config.v1+json", description),
		Layers: []oci.Descriptor{layout.Add("application/vnd.cncf.helm.chart.content.v1.tar+gzip", packed)}}
	top, err := layout.AddJSON(oci.TypeManifest, artifact)
	if err != nil {
		return err
	}
	return b.writeLayout(&layout, top, "chart", "charts/holdfast")
}
