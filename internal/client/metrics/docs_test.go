package metrics

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMetricsAreDocumented: the page lists each metric with its type, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Common metrics")
	table, _, _ = strings.Cut(table, "## Worker metrics")
	var listed, want []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\|").FindAllStringSubmatch(table, -1) {
		listed = append(listed, row[1]+" "+row[2])
	}
	for line := range strings.Lines(families) {
		f := strings.Fields(line)
		want = append(want, f[0]+" "+f[1])
	}
	slices.Sort(listed)
	if !slices.Equal(listed, want) {
		t.Errorf("docs/reference/metrics.md lists\n%s\nwant\n%s", strings.Join(listed, "\n"), strings.Join(want, "\n"))
	}
}
