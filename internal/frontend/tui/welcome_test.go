package tui

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
)

// The first rows state the version, model and permission; they are six if they have room, and
// nothing is cut.
func TestWelcome(t *testing.T) {
	for width, want := range map[int]string{
		120: `settle v1
  model       chat/m
  directory   ~/work/project
  permission  asks before edits · commands sandboxed in this directory
  tip         @ and a few letters insert the path of a file
  ? for shortcuts`,
		80: `settle v1
  model       chat/m
  directory   ~/work/project
  permission  asks before edits · commands sandboxed in this directory
  tip         @ and a few letters insert the path of a file
  ? for shortcuts`,
		40: `settle v1
  model       chat/m
  directory   ~/work/project
  permission  asks before edits ·
              commands sandboxed in this
              directory
  tip         @ and a few letters insert
              the path of a file
  ? for shortcuts`,
	} {
		s := newStatusStage(width, event.Workspace)
		s.Version, s.input.history = "v1", &history{}
		rows := s.welcome().rows(width)
		if got := strings.Join(texts(rows), "\n"); got != want {
			t.Errorf("at %d columns:\n%s", width, got)
		}
		for _, row := range rows {
			if terminal.TextWidth(row.Text()) > width {
				t.Errorf("at %d columns, too wide: %q", width, row.Text())
			}
		}
	}
}

// The configuration of other agents that is in use has a row, or the tip's row as well; there are
// no more rows than without.
func TestWelcomeNamesImportedConfiguration(t *testing.T) {
	const line = "from Claude Code, Codex: 2 MCP servers, 1 hook, 1 rule, CLAUDE.md"
	for width, want := range map[int]string{
		120: `settle v1 · ? for shortcuts
  model       chat/m
  directory   ~/work/project
  permission  asks before edits · commands sandboxed in this directory
  imported    from Claude Code, Codex: 2 MCP servers, 1 hook, 1 rule, CLAUDE.md (/status)
  tip         @ and a few letters insert the path of a file`,
		80: `settle v1 · ? for shortcuts
  model       chat/m
  directory   ~/work/project
  permission  asks before edits · commands sandboxed in this directory
  imported    from Claude Code, Codex: 2 MCP servers, 1 hook, 1 rule, CLAUDE.md
  tip         @ and a few letters insert the path of a file`,
		70: `settle v1 · ? for shortcuts
  model       chat/m
  directory   ~/work/project
  permission  asks before edits · commands sandboxed in this directory
  imported    from Claude Code, Codex: 2 MCP servers, 1 hook, 1 rule,
              CLAUDE.md (/status)`,
	} {
		s := newStatusStage(width, event.Workspace)
		s.Version, s.input.history, s.Imported = "v1", &history{}, func() string { return line }
		if got := strings.Join(texts(s.welcome().rows(width)), "\n"); got != want {
			t.Errorf("at %d columns:\n%s", width, got)
		}
	}
}

// "?" shows the keys while the editor is empty, and is text otherwise.
func TestQuestionMarkShowsShortcuts(t *testing.T) {
	s := newStatusStage(80, event.NoSandbox)
	s.key(terminal.Key{Name: "w", Text: "w"})
	s.key(terminal.Key{Name: "?", Text: "?"})
	if text := s.input.editor.text(); text != "w?" || s.overlay.pager != nil {
		t.Errorf("the text is %q, the pager %v", text, s.overlay.pager)
	}
	s.input.editor.set("")
	s.key(terminal.Key{Name: "?", Text: "?"})
	if s.overlay.pager == nil || !s.input.editor.empty() {
		t.Error("the shortcuts are not shown")
	}
}

// The first rows and the status row have the directory of the session, which can be a git worktree.
func TestDirectoryIsTheSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPersonIn(t, "/data/worktrees/s", Options{
			Version: "v1", PlaceOf: func(dir string) string { return "in " + dir },
		})
		p.sees("directory   in /data/worktrees/s", "· in /data/worktrees/s")
		p.misses("~/w")
		p.types("\x04")
		p.left(code, 0)
	})
}
