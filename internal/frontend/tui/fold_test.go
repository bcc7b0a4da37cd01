package tui

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// reader is a tool that looks, under a name.
type reader struct {
	tool.Tool
	name string
}

func (r reader) Spec() tool.Spec {
	return tool.Spec{Name: r.name, Description: "looks", Schema: []byte(`{"type":"object"}`)}
}

func (r reader) Run(_ context.Context, c tool.Call) (tool.Result, error) {
	var in struct{ Path string }
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Output: "looked", Failed: in.Path == "gone.go"}, nil
}

// Consecutive reads and searches are one row, also in a session that is opened again; a failed one and whatever
// comes between them have rows of their own. The transcript has each.
func TestLooksFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := func(path string) script.Step { return script.Call("read", `{"path":"`+path+`"}`) }
		grep := func(pattern string) script.Step { return script.Call("grep", `{"pattern":"`+pattern+`"}`) }
		p, code := newPersonOf(t, Options{}, settle.SessionConfig{
			Model: model.Config{ProviderName: "script", Name: "m", Provider: script.New(
				script.Turn(read("a.go"), grep("func main")), script.Turn(read("b.go"), read("a.go")),
				script.Turn(read("gone.go")), script.Turn(read("c.go")), script.Turn(script.Text("Now I know.")),
			)},
			WorkDir: "/w", Permission: settle.Allow, Tools: []tool.Tool{reader{name: "read"}, reader{name: "grep"}},
		})
		p.types("go\r")
		p.sees("✓ read 2 files, searched 1 pattern  a.go, b.go, func main")
		p.sees("✗ read gone.go  failed", "✓ read c.go", "Now I know.")
		p.misses("✓ read a.go", "✓ grep", "● ")
		p.types("\x04")
		p.left(code, 0)
		if len(p.tty.grid.Mistakes) > 0 {
			t.Error(p.tty.grid.Mistakes)
		}
	})
}

// A run of looks waits for later events in the live region, in the row that it will have, and is
// not lost at the end.
func TestLooksWaitForTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPersonOf(t, Options{}, settle.SessionConfig{
			Model: model.Config{ProviderName: "script", Name: "m", Provider: script.New(
				script.Turn(script.Call("read", `{"path":"a.go"}`), script.Call("read", `{"path":"b.go"}`)),
				script.Turn(script.Headers(), script.Stall()),
			)},
			WorkDir: "/w", Permission: settle.Allow, Tools: []tool.Tool{reader{name: "read"}},
		})
		p.types("go\r")
		p.sees("✓ read 2 files  a.go, b.go", "working")
		p.types("\x04")
		p.left(code, 0)
		if n := strings.Count(strings.Join(p.tty.rows(), "\n"), "✓ read 2 files"); n != 1 {
			t.Errorf("the row is there %d times:\n%s", n, strings.Join(p.tty.rows(), "\n"))
		}
	})
}

// The row names the looked-at files as far as the width allows, each once, and fits each width.
func TestLookRowFits(t *testing.T) {
	run := []entry{
		{look: &look{toolview.Read, "internal/a.go"}},
		{look: &look{toolview.Search, "日本語"}},
		{look: &look{toolview.Read, "internal/a.go"}},
		{look: &look{toolview.List, "internal"}},
	}
	for width, want := range map[int]string{
		120: "✓ read 1 file, listed 1 folder, searched 1 pattern  internal/a.go, internal, 日本語",
		40:  "✓ read 1 file, listed 1 folder, searche…",
		12:  "✓ read 1 fi…",
	} {
		if got := lookEntry(run).rows(width); len(got) != 1 || got[0].Text() != want {
			t.Errorf("%d columns: %q", width, got)
		}
	}
}
