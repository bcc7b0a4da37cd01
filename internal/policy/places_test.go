package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// linkedDir returns a working directory and a folder outside it with an empty file "keys";
// docs is a link to the folder, and notes a link to the folder sub.
func linkedDir(t *testing.T) (dir, outside string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, outside = filepath.Join(top, "work"), filepath.Join(top, "outside")
	for _, made := range []string{filepath.Join(dir, "sub"), outside} {
		if err := os.MkdirAll(made, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "keys"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	relink(t, "../outside", filepath.Join(dir, "docs"))
	relink(t, "sub", filepath.Join(dir, "notes"))
	return dir, outside
}

func relink(t *testing.T, target, path string) {
	t.Helper()
	_ = os.Remove(path) // if it exists
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// Asked, denied and remembered calls show a path as named and as resolved.
func TestJudgementShowsNamedAndResolved(t *testing.T) {
	dir, outside := linkedDir(t)
	arrow := "docs/keys -> " + outside + "/keys"
	p := newPolicy(t, dir, policy.Config{})
	write := request(t, "write", map[string]any{"path": "docs/keys", "content": "x"})
	write.Title = "write docs/keys"
	j := p.Judge(write)
	if j.Decision != event.Ask || !strings.Contains(j.Why, arrow) || !strings.Contains(j.Covers, arrow) {
		t.Errorf("a question: %s, why %q, covers %q", j.Decision, j.Why, j.Covers)
	}
	want := []event.ResolvedPath{{Path: filepath.Join(dir, "docs/keys"), Real: filepath.Join(outside, "keys")}}
	if diff := cmp.Diff(want, j.Places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	write.Places = j.Places
	p.Remember(write)
	if lines := p.Lines(); len(lines) != 1 || lines[0].Text != "write docs/keys ("+arrow+")" {
		t.Errorf("remembered: %+v", lines)
	}
	denies := newPolicy(t, dir, policy.Config{Rules: []config.Rule{rule("write", outside+"/**", event.Deny)}})
	if j := denies.Judge(write); j.Decision != event.Deny || !strings.Contains(j.Why, arrow) {
		t.Errorf("a denial: %s, why %q", j.Decision, j.Why)
	}
	inside := p.Judge(request(t, "read", map[string]any{"path": "notes/x"}))
	if inside.Decision != event.Allow || inside.Places[0].Real != filepath.Join(dir, "sub/x") {
		t.Errorf("a link inside: %s, %+v (%s)", inside.Decision, inside.Places, inside.Why)
	}
}

// An approval for the session applies to the approved place, for any later target of the
// path.
func TestRememberBindsToThePlace(t *testing.T) {
	dir, outside := linkedDir(t)
	p := newPolicy(t, dir, policy.Config{})
	through := request(t, "write", map[string]any{"path": "notes/keys", "content": "x"})
	through.Places = p.Judge(through).Places
	relink(t, "../outside", filepath.Join(dir, "notes"))
	p.Remember(through)
	through.Places = nil
	if j := p.Judge(through); j.Decision != event.Ask {
		t.Errorf("the link leads outside now: %s (%s)", j.Decision, j.Rule)
	}
	for path, want := range map[string]event.Permission{"sub/keys": event.Allow, filepath.Join(outside, "keys"): event.Ask} {
		if j := p.Judge(request(t, "write", map[string]any{"path": path, "content": "x"})); j.Decision != want {
			t.Errorf("%s: %s, want %s (%s)", path, j.Decision, want, j.Why)
		}
	}
}

// A file with several names that not all users can read needs an approval: another name can
// be in any folder.
func TestHardLinksAreAskedAbout(t *testing.T) {
	dir, outside := linkedDir(t)
	if err := os.Link(filepath.Join(outside, "keys"), filepath.Join(dir, "x")); err != nil {
		t.Fatal(err)
	}
	rules := []config.Rule{rule("edit", "", event.Allow), rule("read", "", event.Allow)}
	p := newPolicy(t, dir, policy.Config{Rules: rules})
	for tool, args := range map[string]map[string]any{"read": {"path": "x"}, "edit": {"path": "x", "old_string": "a", "new_string": "b"}} {
		if j := p.Judge(request(t, tool, args)); j.Decision != event.Ask || !j.Places[0].Shared {
			t.Errorf("%s: %s, %+v", tool, j.Decision, j.Places)
		}
	}
	if err := os.Chmod(filepath.Join(outside, "keys"), 0o644); err != nil {
		t.Fatal(err)
	}
	if j := p.Judge(request(t, "read", map[string]any{"path": "x"})); j.Decision != event.Allow {
		t.Errorf("one that everybody may read: %s (%s)", j.Decision, j.Why)
	}
}
