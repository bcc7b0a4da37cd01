package search

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/tool"
)

var update = flag.Bool("update", false, "write the goldens anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func put(t interface{ Fatal(...any) }, dir string, files map[string]string) {
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type args map[string]any

// run calls a tool in dir.
func run(t testing.TB, cfg Config, dir, name string, in args) (tool.Result, error) {
	t.Helper()
	set, err := tool.NewSet(Tools(cfg)...)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return set.Run(t.Context(), tool.Call{Name: name, Args: raw, Dir: dir})
}

// resultText returns the model's result with dir replaced.
func resultText(result tool.Result, err error, dir string) string {
	text := result.Output
	if err != nil {
		text = "error: " + err.Error()
	}
	return strings.ReplaceAll(text, dir, "/work")
}
