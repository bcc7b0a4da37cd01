package assemble

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/ask"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/plan"
	"github.com/settle-agent/settle/tool/search"
	"github.com/settle-agent/settle/tool/shell"
	"github.com/settle-agent/settle/tool/skill"
	"github.com/settle-agent/settle/tool/task"
	"github.com/settle-agent/settle/tool/web"
)

// a flag of the test binary
var update = flag.Bool("update", false, "write the golden files again")

// The name, description, schema and flags of each built-in tool are part of the requests
// that models receive: testdata/tools.golden has them.
func TestBuiltInToolSpecs(t *testing.T) {
	tools := slices.Concat(
		shell.NewJobs(shell.Config{}).Tools(), fileTools(file.Config{}, search.Config{}),
		[]tool.Tool{web.NewFetch(web.Config{}), web.NewSearch(nil), plan.New(), ask.New(), skill.New(nil)},
		task.Tools(nil),
	)
	var b strings.Builder
	for _, one := range tools {
		s := one.Spec()
		fmt.Fprintf(&b, "# %s read-only=%t timeout=%s deferred=%q finder=%t\n%s\n%s\n", s.Name, s.ReadOnly, s.Timeout,
			s.Deferred, s.Finder, s.Description, s.Grammar)
		var compact bytes.Buffer
		if err := json.Compact(&compact, s.Schema); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n\n", compact.Bytes())
	}
	const golden = "testdata/tools.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("tools changed; -update if that is intended:\n%s", diff)
	}
}
