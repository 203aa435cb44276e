package monitoring_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// dashboard is what Grafana shows.
type dashboard struct {
	Panels     []panel
	Templating struct{ List []variable }
}

type panel struct {
	Type, Title, Description string
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct{ Expr string }
}

type variable struct {
	Name, AllValue string
	Query          any // that of a selection is an object with a text
}

// replaced returns a query in which the variables of the dashboard select a node, and that of Grafana is a time of at
// least four scrapes. A zero that stands for no data is removed.
func replaced(query, node string) string {
	return strings.NewReplacer("$job", job, "$instance", node, "$__rate_interval", "4s", " or vector(0)",
		"").Replace(query)
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	stand.Must(t, json.Unmarshal(read(t, "../../deploy/grafana/holdfast.json"), &d))
	d.Panels = slices.DeleteFunc(d.Panels, func(p panel) bool { return p.Type == "row" })
	if len(d.Panels) < 40 {
		t.Fatalf("the dashboard has %d panels", len(d.Panels))
	}
	return d
}

// Each panel of the dashboard says what it shows.
func TestPanelsAreDescribed(t *testing.T) {
	t.Parallel()
	for _, p := range readDashboard(t).Panels {
		if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("a title, a description, a unit or a query is missing: %+v", p)
		}
	}
}

// A panel shows each metric that is documented, those of the alerts among them.
func TestMetricsHavePanels(t *testing.T) {
	t.Parallel()
	var queries strings.Builder
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			fmt.Fprintln(&queries, target.Expr)
		}
	}
	texts := slices.Concat(read(t, rules), read(t, "../../docs/metrics.md"), read(t, "../../docs/tenants.md"))
	metrics := slices.Sorted(maps.Keys(metricsIn(string(texts))))
	if len(metrics) < 40 {
		t.Fatalf("the metrics are %q: the test is vacuous", metrics)
	}
	shown := metricsIn(queries.String())
	for _, metric := range metrics {
		if !shown[metric] {
			t.Errorf("no panel shows %s", metric)
		}
	}
}

// metricsIn returns the metrics of nodes that a text names, without the suffixes of the series of a histogram.
func metricsIn(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`\bholdfast_[a-z_]+[a-z]\b`).FindAllString(text, -1) {
		all[regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(m, "")] = true
	}
	return all
}

// wantPanel waits until each query of a panel has data of a node.
func (p *prometheus) wantPanel(shown panel, node string) {
	p.Helper()
	for _, target := range shown.Targets {
		query := replaced(target.Expr, node)
		stand.Eventually(p, fmt.Sprintf("%q has data: %s", shown.Title, query), func() bool { return p.hasData(query) })
	}
}

// wantSelection waits until the variable of this name has this one value, which is also what is meant by all.
func (p *prometheus) wantSelection(d dashboard, name, value string) {
	p.Helper()
	i := slices.IndexFunc(d.Templating.List, func(v variable) bool { return v.Name == name })
	if i < 0 {
		p.Fatalf("there is no variable %q", name)
	}
	if all := d.Templating.List[i].AllValue; all != "" {
		p.Errorf("all of the variable %q are %q", name, all)
	}
	object, _ := d.Templating.List[i].Query.(map[string]any)
	query, _ := object["query"].(string)
	arguments, isSelection := strings.CutPrefix(strings.TrimSuffix(query, ", "+name+")"), "label_values(")
	if !isSelection {
		p.Fatalf("the variable %q is %q", name, query)
	}
	stand.Eventually(p, fmt.Sprintf("%s is %q", query, value), func() bool {
		var found []string
		p.ask("label/"+name+"/values", url.Values{"match[]": {replaced(arguments, value)}}, &found)
		return slices.Equal(found, []string{value})
	})
}
