package main

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// Helm reads the packed chart, with all of its files and with the version of the build.
func TestChart(t *testing.T) {
	t.Chdir("..")
	b := &build{version: version{semantic: "1.2.3+4.gabc1234"}, time: time.Unix(1, 0), dir: t.TempDir(),
		work: t.TempDir()}
	if err := b.writeChart(); err != nil {
		t.Fatal(err)
	}
	packed, err := loader.LoadFile(filepath.Join(b.dir, "holdfast-1.2.3+4.gabc1234.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := loader.LoadDir(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	if m := packed.Metadata; m.Version != b.version.semantic || m.AppVersion != b.version.semantic {
		t.Errorf("version %s, appVersion %s, want %s", m.Version, m.AppVersion, b.version.semantic)
	}
	for _, link := range []string{"prometheus/holdfast.rules.yml", "grafana/holdfast.json"} {
		want, err := os.ReadFile(filepath.Join("../deploy", link))
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(packed.Files, func(f *common.File) bool { return f.Name == "files/"+path.Base(link) }); i < 0 ||
			!bytes.Equal(packed.Files[i].Data, want) {
			t.Errorf("the chart has another %s", link)
		}
	}
	if len(packed.Raw) != len(source.Raw) || len(source.Templates) == 0 ||
		len(packed.Templates) != len(source.Templates) || len(packed.Schema) == 0 {
		t.Errorf("%d files, %d templates, want %d and %d", len(packed.Raw), len(packed.Templates), len(source.Raw),
			len(source.Templates))
	}
}
