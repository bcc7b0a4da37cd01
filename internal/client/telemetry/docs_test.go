package telemetry

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVariablesAreDocumented: the page lists each variable that is read, and no other.
func TestVariablesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/opentelemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Variables")
	table, _, _ = strings.Cut(table, "`HEADERS`")
	listed := map[string]bool{}
	for row := range strings.Lines(table) {
		if cells := strings.Split(row, "|"); len(cells) > 2 {
			for _, name := range regexp.MustCompile(`[A-Z][A-Z_]{3,}`).FindAllString(
				strings.ReplaceAll(cells[1], "…", "OTEL_EXPORTER_OTLP"), -1,
			) {
				listed[name] = true
			}
		}
	}
	delete(listed, "OTEL_EXPORTER_OTLP_CERTIFICATE") // the maker of the client reads it
	read := map[string]bool{}
	_, err = Read(func(name string) string {
		if signal := regexp.MustCompile(
			`^(OTEL_EXPORTER_OTLP)_(?:TRACES|METRICS)_(HEADERS|PROTOCOL|COMPRESSION|TIMEOUT)$`,
		).FindStringSubmatch(name); signal != nil {
			return ""
		}
		read[name] = true
		switch {
		case strings.HasSuffix(name, "S_EXPORTER"):
			return "otlp"
		case name == "OTEL_TRACES_SAMPLER":
			return "traceidratio"
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(read)), slices.Sorted(maps.Keys(listed))); diff != "" {
		t.Errorf("(-read +docs/reference/opentelemetry.md):\n%s", diff)
	}
}
