package about

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/config"
)

// A setting that a person has set is listed, with its origin; default settings are only counted.
func TestChosenShowsWhatIsSet(t *testing.T) {
	r, err := config.Load(config.Input{
		Dir: t.TempDir(), Getenv: func(string) string { return "" }, Flags: map[string]string{"effort": "low"},
		ProjectConfig: config.IgnoreProject,
	})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Chosen(&b, r); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(b.String()), " ")
	if !strings.HasPrefix(got, "effort low --effort") || !strings.Contains(got, "settings have their defaults") ||
		strings.Contains(got, "stall_timeout") {
		t.Errorf("it shows %q", got)
	}
}
