package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
		if err == nil && d.Type().IsRegular() && d.Name() != "Chart.yaml" {
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
	return write(filepath.Join(b.dir, "holdfast-"+b.version.semantic+".tgz"), content.Bytes(), 0o644)
}
