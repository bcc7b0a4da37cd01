package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/frontend/web"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool/file"
)

// written serves a session in which a file was made and another one changed.
func written(t *testing.T, ceiling settle.Permission) (b *harness, session, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b = serve(t, setup{
		dir: t.TempDir(), work: dir, allow: true, web: func(o *web.Options) { o.Ceiling = ceiling },
		model: script.New(
			script.Text("hi"),
			script.Call("write", `{"path":"new","content":"n"}`),
			script.Call("edit", `{"path":"a","old_string":"one","new_string":"two"}`),
			script.Text("done"),
		),
		config: func(c *settle.SessionConfig) {
			c.Toolbox = func(info settle.SessionInfo) (settle.Toolbox, error) {
				return settle.Toolbox{
					Tools: file.NewWorkspace(file.Config{Keep: disk.SessionContents(info.OutputDir).Keep}).Tools(),
				}, nil
			}
		},
	})
	session = b.session("first")
	for _, turn := range []string{"t000001", "t000002"} {
		b.input(session, "Go "+turn)
		b.until(session, func(e event.Event) bool { return e.Terminal() && e.Turn == turn })
	}
	return b, session, dir
}

// A session goes back to before an input, with the files, or without.
func TestRewind(t *testing.T) {
	b, session, dir := written(t, settle.Allow)
	plan := ask[object](b, "GET", session+"/rewind", nil, 200)
	b.diff("the plan", object{
		"turn": "t000002", "input": "Go t000002", "uncovered": []any{},
		"files": []any{
			object{"path": "new", "action": "remove", "why": "it was created"},
			object{"path": "a", "action": "restore"},
		},
	}, plan)
	b.diff("of the first", "t000001", ask[object](b, "GET", session+"/rewind?input=n000001", nil, 200)["turn"])
	ask[object](b, "GET", session+"/rewind?input=n9", nil, 404)
	ask[object](b, "POST", session+"/rewind", object{"input": "n9"}, 404)
	content := func() string {
		text, err := os.ReadFile(filepath.Join(dir, "a"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	copied := ask[object](b, "POST", session+"/rewind", object{"keep_files": true}, 201)
	if content() != "two" || len(copied["restored"].([]any)) > 0 {
		t.Errorf("%v; the file has %q", copied, content())
	}
	back := ask[object](b, "POST", session+"/rewind", object{"input": "t000002"}, 201)
	b.diff("restored", []any{"new", "a"}, back["restored"])
	b.diff("the command", "settle rewind --undo "+back["snapshot"].(string), back["undo"])
	if _, err := os.Stat(filepath.Join(back["snapshot"].(string), "manifest.json")); err != nil || content() != "one" {
		t.Errorf("%v; the file has %q", err, content())
	}
	if got := ask[object](b, "GET", "/api/sessions/"+back["id"].(string)+"?turns=9", nil, 200); got["state"] != "closed" {
		t.Errorf("the copy is %v", got)
	}
}

// Where the user configured that nothing is changed, clients change nothing.
func TestRewindMayBeRefused(t *testing.T) {
	b, session, dir := written(t, settle.Deny)
	ask[object](b, "POST", session+"/rewind", object{}, 403)
	if text, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(text) != "two\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	ask[object](b, "POST", session+"/rewind", object{"keep_files": true}, 201)
	memory := serve(t, setup{})
	ask[object](memory, "GET", memory.session("x")+"/rewind", nil, 409)
}
