package appserver

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/model/script"
)

func TestSkills(t *testing.T) {
	m := script.New(script.Text("one"), script.Text("two"), script.Text("three"))
	c := start(t, m)
	c.diff(
		"before", []any{map[string]any{"cwd": c.Dir, "skills": []any{}, "errors": []any{}}},
		c.Must("skills/list", map[string]any{})["data"],
	)
	clienttest.WriteCommands(t, c.Dir)
	path := filepath.Join(c.Dir, ".claude/skills/tidy/SKILL.md")
	want := []any{map[string]any{"cwd": c.Dir, "errors": []any{}, "skills": []any{
		map[string]any{"name": "tidy", "description": "Tidy up", "path": path, "scope": "user", "enabled": true},
	}}}
	c.diff("listed", want, c.Must("skills/list", map[string]any{"cwds": []string{c.Dir}})["data"])

	thread := c.thread()
	skill := func(name string) map[string]any { return map[string]any{"type": "skill", "name": name, "path": path} }
	c.turn(thread, "", map[string]any{"input": []any{map[string]any{"type": "text", "text": "Now:"}, skill("tidy")}})
	c.Seen(`"method":"turn/completed"`, 1)
	c.turn(thread, "", map[string]any{"input": []any{skill("other")}})
	c.Seen(`"method":"turn/completed"`, 2)
	c.turn(thread, "/review it")
	c.Seen(`"method":"turn/completed"`, 3)
	for n, want := range []string{"Now:\n<skill name=\"tidy\">\nTidy .", "[@other](" + path, "Review with care.\n\nit"} {
		input := m.Requests()[n].Input
		if said := input[len(input)-1].Text; !strings.HasPrefix(said, want) {
			t.Errorf("the model was told %q, want %q", said, want)
		}
	}
}
