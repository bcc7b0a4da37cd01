package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// files writes files below a folder, which it returns. A path that ends in "!" is a program.
func files(t *testing.T, dir string, contents map[string]string) string {
	t.Helper()
	for name, text := range contents {
		name, program := strings.CutSuffix(name, "!")
		path := filepath.Join(dir, filepath.FromSlash(name))
		mode := os.FileMode(0o600)
		if program {
			mode = 0o700
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func all(string) bool { return true }

// added adds the plugin in a folder to a new store.
func added(t *testing.T, source string) (Store, Plugin) {
	t.Helper()
	s := NewStore(t.TempDir())
	tree, err := ReadDir(source, all)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Stage(t.Context(), Record{Name: "demo", Source: source}, tree)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = removeTree(s.dir) }) // its folders are read-only
	if err := s.Record(t.Context(), p.Record); err != nil {
		t.Fatal(err)
	}
	return s, p
}

func listed(t *testing.T, s Store) Plugin {
	t.Helper()
	list, err := s.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%d plugins: %v", len(list), err)
	}
	return list[0]
}

func TestTrustBelongsToContent(t *testing.T) {
	source := files(t, t.TempDir(), map[string]string{"skills/a/SKILL.md": "a", "run.sh!": "true", "x.txt": "x"})
	s, p := added(t, source)
	if now := listed(t, s); !now.Used() || now.State() != "ok" || now.Check() != nil {
		t.Errorf("%+v", now)
	}
	skill := filepath.Join(p.Root, "skills", "a", "SKILL.md")
	if err := p.CheckFile(skill, []byte("a")); err != nil {
		t.Error(err)
	}
	if p.CheckFile(skill, []byte("b")) == nil || p.CheckFile(filepath.Join(p.Root, "new.md"), nil) == nil {
		t.Error("other content is trusted")
	}
	for name, change := range map[string]func(root string) error{
		"changed: x.txt": func(root string) error {
			_ = os.Remove(filepath.Join(root, "x.txt"))
			return os.WriteFile(filepath.Join(root, "x.txt"), []byte("y"), 0o600)
		},
		"new: hooks/hooks.json": func(root string) error {
			_ = os.MkdirAll(filepath.Join(root, "hooks"), 0o700)
			return os.WriteFile(filepath.Join(root, "hooks", "hooks.json"), []byte("{}"), 0o600)
		},
		"removed: run.sh": func(root string) error { return os.Remove(filepath.Join(root, "run.sh")) },
		`"link", which is a symbolic link`: func(root string) error {
			return os.Symlink("/etc/passwd", filepath.Join(root, "link"))
		},
	} {
		s, p := added(t, source)
		if err := os.Chmod(p.Root, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := change(p.Root); err != nil {
			t.Fatal(err)
		}
		now := listed(t, s)
		if now.Used() || !strings.Contains(now.Problem, name) || len(now.Parts.Skills) > 0 {
			t.Errorf("%s: %q", name, now.Problem)
		}
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), "settle plugins update demo") {
			t.Errorf("%s: %v", name, err)
		}
		again, err := s.Stage(t.Context(), p.Record, mustRead(t, source)) // an update restores the copy
		if err != nil || again.Problem != "" {
			t.Errorf("%s: %v, %q", name, err, again.Problem)
		}
	}
}

func mustRead(t *testing.T, dir string) Tree {
	t.Helper()
	tree, err := ReadDir(dir, all)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestSourceDriftIsReportedAndNotUsed(t *testing.T) {
	source := files(t, t.TempDir(), map[string]string{"skills/a/SKILL.md": "a", "b": "b"})
	s, _ := added(t, source)
	files(t, source, map[string]string{"skills/a/SKILL.md": "other", ".git/config": "x"})
	now := listed(t, s)
	if diff := cmp.Diff([]string{"changed: skills/a/SKILL.md"}, now.Drift); diff != "" || !now.Used() {
		t.Errorf("%s\n%+v", diff, now)
	}
	data, err := os.ReadFile(filepath.Join(now.Root, "skills", "a", "SKILL.md"))
	if err != nil || string(data) != "a" {
		t.Errorf("the copy has %q: %v", data, err)
	}
	if err := os.RemoveAll(source); err != nil {
		t.Fatal(err)
	}
	if now := listed(t, s); !now.Used() || now.Drifted() != "removed: the directory" {
		t.Errorf("%+v", now.Drift)
	}
}

// A changed copy has the trusted hooks as long as the manifest and the files of hooks are the same.
func TestFormerHooksAreKnownDespiteDataFiles(t *testing.T) {
	const hooks = `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true"}]}]}}`
	for _, c := range []struct {
		manifest, file string
		isKnown        bool
	}{
		{`{"name":"demo","hooks":"./more.json"}`, "node_modules/.package-lock.json", true},
		{`{"name":"demo","hooks":"./more.json"}`, ".mcp.json", true},
		{`{"name":"demo","hooks":"./more.json"}`, "more.json", false},
		{`{"name":"demo","hooks":"./more.json"}`, "hooks/hooks.json", false},
		{`{"name":"demo"}`, "more.json", true},
		{`{"name":"demo"}`, ".claude-plugin/plugin.json", false},
	} {
		_, p := added(t, files(t, t.TempDir(), map[string]string{
			".claude-plugin/plugin.json": c.manifest, "hooks/hooks.json": hooks, "more.json": hooks,
		}))
		if err := chmodTree(p.Root, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(p.Root, c.file)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		files(t, p.Root, map[string]string{c.file: `{"name":"demo" }`})
		former, isKnown := p.Former()
		if isKnown != c.isKnown || isKnown && len(former.Parts.Hooks) != strings.Count(c.manifest, "hooks")+1 {
			t.Errorf("%s: %s changed: known is %v, %+v", c.manifest, c.file, isKnown, former.Parts.Hooks)
		}
	}
}

func TestLinksAreOmitted(t *testing.T) {
	source := files(t, t.TempDir(), map[string]string{"a": "a"})
	secret := files(t, t.TempDir(), map[string]string{"id": "secret"})
	for name, target := range map[string]string{"skills": secret, "inside": "a", "id": filepath.Join(secret, "id")} {
		if err := os.Symlink(target, filepath.Join(source, name)); err != nil {
			t.Fatal(err)
		}
	}
	tree := mustRead(t, source)
	if len(tree.Files) != 1 || len(tree.Omitted) != 3 {
		t.Errorf("%+v", tree)
	}
	s, _ := added(t, source)
	if m := listed(t, s).Parts; len(m.Skills) > 0 || len(m.Ignored) != 3 {
		t.Errorf("%+v", m)
	}
}

// aged sets the times of a copy back by the age.
func aged(t *testing.T, s Store, r Record, age time.Duration) {
	t.Helper()
	root, then := s.rootOf(r.Name, r.Digest), time.Now().Add(-age)
	for _, path := range []string{root, root + listSuffix} {
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPruneKeepsTrustedCopyDespiteStagedOne(t *testing.T) {
	source := files(t, t.TempDir(), map[string]string{"a": "a"})
	s, trusted := added(t, source)
	aged(t, s, trusted.Record, 48*time.Hour)
	files(t, source, map[string]string{"a": "b"})
	rejected, err := s.Stage(t.Context(), Record{Name: "demo", Source: source}, mustRead(t, source))
	if err != nil {
		t.Fatal(err)
	}
	aged(t, s, rejected.Record, 48*time.Hour)
	if err := s.Prune(t.Context(), "demo", time.Hour); err != nil {
		t.Error(err)
	}
	if now := listed(t, s); now.Problem != "" {
		t.Errorf("the trusted copy was removed: %s", now.Problem)
	}
	if s.Open(rejected.Record).Problem == "" {
		t.Error("an old copy that nobody trusts stays")
	}
}

func TestRecordRestartsAgeOfReplacedCopy(t *testing.T) {
	source := files(t, t.TempDir(), map[string]string{"a": "a"})
	s, old := added(t, source)
	aged(t, s, old.Record, 48*time.Hour)
	files(t, source, map[string]string{"a": "b"})
	staged, err := s.Stage(t.Context(), Record{Name: "demo", Source: source}, mustRead(t, source))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Record(t.Context(), staged.Record), s.Prune(t.Context(), "demo", time.Hour)); err != nil {
		t.Fatal(err)
	}
	if now := s.Open(old.Record); now.Problem != "" || s.Trusted(old.Record) == "" {
		t.Errorf("open sessions lost their copy: %s", now.Problem)
	}
}

func TestTreeBounds(t *testing.T) {
	var tree Tree
	if err := tree.Add("big", false, make([]byte, MaxFile+1), false); err == nil {
		t.Error("a file is too large")
	}
	tree.total = MaxTotal
	if err := tree.Add("one", false, []byte("x"), false); err == nil {
		t.Error("the tree is too large")
	}
	sparse := filepath.Join(t.TempDir(), "huge")
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDir(filepath.Dir(sparse), all); err == nil || !strings.Contains(err.Error(), `"huge" has`) {
		t.Errorf("%v", err)
	}
}

func TestCheckPath(t *testing.T) {
	for path, want := range map[string]bool{
		"a": true, "a/b.md": true, ".mcp.json": true, "a b/ü": true,
		"": false, ".": false, "..": false, "../a": false, "a/../../b": false, "/a": false, "a//b": false, "a/": false,
		`a\b`: false, "c:x": false, "a\nb": false, "a\x1b[2J": false, "a/.git/config": false, ".GIT": false,
		"a\u202eb": false, strings.Repeat("a/", 30) + "b": false, strings.Repeat("a", 500): false, "\xff": false,
	} {
		if err := CheckPath(path); (err == nil) != want {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestChanges(t *testing.T) {
	var before, after Tree
	for _, f := range []struct {
		tree       *Tree
		path, text string
		program    bool
	}{
		{&before, "a", "1", false},
		{&after, "a", "1", true},
		{&before, "b", "1", false},
		{&after, "c", "1", false},
		{&before, "d", "1", false},
		{&after, "d", "1", false},
	} {
		if err := f.tree.Add(f.path, f.program, []byte(f.text), false); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"changed: a", "removed: b", "new: c"}
	if runtime.GOOS == "windows" {
		want = want[1:]
	}
	if diff := cmp.Diff(want, Changes(before.List(), after.List())); diff != "" {
		t.Error(diff)
	}
}

func TestRecords(t *testing.T) {
	source := files(t, t.TempDir(), map[string]string{"a": "a"})
	s, p := added(t, source)
	for _, name := range []string{"demo", "other"} {
		if err := s.Enable(t.Context(), name, false); (err == nil) != (name == "demo") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now := listed(t, s); now.Used() || now.State() != "disabled" {
		t.Errorf("%+v", now)
	}
	if err := s.Prune(t.Context(), "demo", 0); err != nil {
		t.Error(err)
	}
	if now := listed(t, s); now.Problem != "" {
		t.Errorf("the trusted copy was removed: %s", now.Problem)
	}
	old := p.Record
	files(t, source, map[string]string{"a": "b"})
	staged, err := s.Stage(t.Context(), Record{Name: "demo", Source: source}, mustRead(t, source))
	if err != nil || s.Record(t.Context(), staged.Record) != nil {
		t.Fatal(err)
	}
	if err := s.Prune(t.Context(), "demo", time.Hour); err != nil || s.Open(old).Problem != "" {
		t.Errorf("%v: open sessions lost their copy: %s", err, s.Open(old).Problem)
	}
	if err := s.Prune(t.Context(), "demo", 0); err != nil || s.Open(old).Problem == "" {
		t.Errorf("%v: an old copy stays", err)
	}
	if err := s.Unstage(t.Context(), staged); err != nil || listed(t, s).Problem != "" {
		t.Errorf("%v: a trusted copy was unstaged", err)
	}
	current := listed(t, s)
	for _, path := range []string{p.Root, current.Root} {
		if err := removeTree(path); err != nil {
			t.Fatal(err)
		}
	}
	for open, want := range map[*Plugin]string{&p: "settle resume ID", &current: "settle plugins update demo"} {
		for _, err := range []error{open.Check(), open.CheckFile(filepath.Join(open.Root, "a"), []byte("?"))} {
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
	if err := s.Remove(t.Context(), "demo"); err != nil {
		t.Error(err)
	}
	if err := current.Check(); err == nil || !strings.HasSuffix(err.Error(), "settle resume ID") {
		t.Error(err)
	}
	if _, err := os.Stat(staged.Root); err == nil {
		t.Error("a copy stays")
	}
	for _, text := range []string{
		"{", `{"plugins":[{"name":"../x"}]}`, `{"plugins":[{"name":"x","digest":"sha256:../../x"}]}`,
	} {
		files(t, s.dir, map[string]string{"plugins.json": text})
		if list, err := s.List(); err == nil || len(list) > 0 {
			t.Errorf("%s: %d plugins", text, len(list))
		}
	}
}
