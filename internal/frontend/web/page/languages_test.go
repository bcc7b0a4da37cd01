package page

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/terminal/markdown"
)

var update = flag.Bool("update", false, "write assets/languages.js anew")

// The page distinguishes languages by the table of the terminal.
func TestLanguages(t *testing.T) {
	var b strings.Builder
	b.WriteString("// The languages that code is highlighted in. It is the terminal's table (package\n" +
		"// markdown): \"go test ./internal/frontend/web/page -update\" writes it.\n\nexport const languages = [\n")
	for _, l := range markdown.Languages() {
		raw, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("  " + string(raw) + ",\n")
	}
	b.WriteString("];\n")
	const file = "assets/languages.js"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != b.String() {
		t.Errorf("%s is not what the terminal has (%v); run this test with -update", file, err)
	}
}
