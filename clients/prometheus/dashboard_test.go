package prometheus

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// exposed are the labels of each metric that docs/reference/metrics.md lists.
func exposed(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	series := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\| (.*?)\\|").FindAllStringSubmatch(string(page), -1) {
		name, names := row[1], strings.FieldsFunc(row[3], func(r rune) bool { return strings.ContainsRune("`, ", r) })
		if row[2] != "histogram" {
			series[name] = names
			continue
		}
		series[name+"_bucket"] = append(slices.Clone(names), "le")
		series[name+"_sum"], series[name+"_count"] = names, names
	}
	return series
}

// checkDocs compares the labels of the served metrics with the page.
func checkDocs(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	known := exposed(t)
	for name, f := range families {
		listed, ok := known[name]
		if f.GetType() == dto.MetricType_HISTOGRAM {
			listed, ok = known[name+"_count"]
		}
		if !ok {
			t.Errorf("docs/reference/metrics.md does not list %s", name)
		}
		for _, m := range f.GetMetric() {
			var names []string
			for _, l := range m.GetLabel() {
				names = append(names, l.GetName())
			}
			if !slices.Equal(names, listed) {
				t.Errorf("%s has the labels %q, the page says %q", name, names, listed)
			}
		}
	}
}

// check parses an expression, and checks that its metrics and labels exist.
func check(t *testing.T, known map[string][]string, expr string) {
	t.Helper()
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v", expr, err)
		return
	}
	has := []string{"job", "instance"} // which Prometheus adds
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		names, ok := known[v.Name]
		if !ok {
			t.Errorf("%s: there is no metric %s", expr, v.Name)
		}
		has = append(has, names...)
		for _, m := range v.LabelMatchers {
			if m.Name != model.MetricNameLabel && m.Name != "job" && m.Name != "instance" &&
				!slices.Contains(names, m.Name) {
				t.Errorf("%s: %s has no label %s", expr, v.Name, m.Name)
			}
		}
		return nil
	})
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			for _, name := range a.Grouping {
				if !slices.Contains(has, name) {
					t.Errorf("%s: nothing in it has a label %s", expr, name)
				}
			}
		}
		return nil
	})
}

// TestDashboard: the metrics of the dashboard are exposed.
func TestDashboard(t *testing.T) {
	raw, err := os.ReadFile("../../integrations/grafana/settle.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	known, seen := exposed(t), 0
	variables := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$instance", ".*")
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			seen++
			check(t, known, variables.Replace(target.Expr))
			for _, l := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !regexp.MustCompile(`by \([^)]*\b` + l[1] + `\b`).MatchString(target.Expr) {
					t.Errorf("%s: the legend has %s, the expression does not", p.Title, l[1])
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("the dashboard has %d expressions", seen)
	}
}

// TestAlerts: Prometheus accepts the rules, their metrics are exposed, one guide lists all alerts,
// and the other has advice for each.
func TestAlerts(t *testing.T) {
	known, rules := exposed(t), []string(nil)
	for _, r := range alerts(t) {
		rules = append(rules, r.Alert)
		check(t, known, r.Expr)
	}
	slices.Sort(rules)
	row := regexp.MustCompile("(?m)^\\| `(Settle\\w+)` \\|")
	for _, name := range []string{"monitoring.md", "fleet-operations.md"} {
		guide, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var entries []string
		for _, entry := range row.FindAllStringSubmatch(string(guide), -1) {
			entries = append(entries, entry[1])
		}
		if slices.Sort(entries); len(rules) == 0 || !slices.Equal(rules, entries) {
			t.Errorf("the alerts are %q, and %s has %q", rules, name, entries)
		}
	}
}
