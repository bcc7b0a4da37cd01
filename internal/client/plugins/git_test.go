//go:build machine

package plugins

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/config/plugin"
)

// repository is a git repository in a new folder.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t, filepath.Join(t.TempDir(), "source")}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.git("", "init", "--quiet", "-b", "main")
	return r
}

// git runs git and returns its output.
func (r repository) git(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_COMMITTER_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repository) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		r.t.Fatal(err)
	}
}

func (r repository) commit() string {
	r.t.Helper()
	r.git("", "add", "-A")
	r.git("", "commit", "--quiet", "-m", "x")
	return r.git("", "rev-parse", "HEAD")
}

func (r repository) open(ref string) (Snapshot, error) {
	r.t.Helper()
	return Source{Where: r.dir, Git: true, Ref: ref}.Open(r.t.Context(), os.Environ(), r.t.TempDir())
}

func TestFetchHasNoSideEffects(t *testing.T) {
	r := newRepository(t)
	mark := filepath.Join(t.TempDir(), "ran")
	r.write("p/skills/a/SKILL.md", "a\n")
	r.write("p/run.sh", "true")
	r.write("p/large.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
	r.write(".gitattributes", "* filter=evil text eol=crlf\n")
	r.git("", "config", "filter.evil.smudge", "touch "+mark)
	r.git("", "config", "uploadpack.packObjectsHook", "touch "+mark+";")
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-merge"} {
		r.write(".git/hooks/"+hook, "#!/bin/sh\ntouch "+mark+"\n")
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(r.dir, "p", "link")); err != nil {
		t.Fatal(err)
	}
	r.git("", "add", "-A")
	r.git("", "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",p/sub")
	first := r.commitIndex()
	r.write("p/run.sh", "false")
	second := r.commit()
	_ = os.Remove(mark) // of the commits here
	for ref, want := range map[string]string{"": second, "main": second, first: first, second: second} {
		s, err := r.open(ref)
		if err != nil {
			t.Fatalf("%q: %v", ref, err)
		}
		if s.Commit() != want {
			t.Errorf("%q is %s, want %s", ref, s.Commit(), want)
		}
		tree, err := s.Tree(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		run, _ := tree.File("run.sh")
		skill, _ := tree.File("skills/a/SKILL.md")
		if text := map[string]string{first: "true", second: "false"}[want]; string(run.Data) != text || !run.Program ||
			string(skill.Data) != "a\n" {
			t.Errorf("%q: %q, %q", ref, run.Data, skill.Data)
		}
		if want == first {
			if diff := cmp.Diff([]string{
				`the content of "large.bin", which is in Git LFS`, `"link", which is a symbolic link`,
				`"sub", which is a submodule`,
			}, tree.Omitted, cmp.Transformer("sorted", sortedCopy)); diff != "" {
				t.Error(diff)
			}
		}
		if _, err := s.File(t.Context(), "p/link"); !notThere(err) {
			t.Errorf("a link is read: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the repository has run")
	}
	for _, ref := range []string{strings.Repeat("2", 40), "nothing", "--upload-pack=touch"} {
		if s, err := r.open(ref); err == nil {
			t.Errorf("%q is %s", ref, s.Commit())
		}
	}
}

func sortedCopy(list []string) map[string]bool {
	set := map[string]bool{}
	for _, one := range list {
		set[one] = true
	}
	return set
}

func (r repository) commitIndex() string {
	r.t.Helper()
	r.git("", "commit", "--quiet", "-m", "x")
	return r.git("", "rev-parse", "HEAD")
}

// A tree object can have names that no checkout would write.
func TestHostileTreeIsRefused(t *testing.T) {
	for _, name := range []string{"..", ".git", "a\x1b[2J"} {
		r := newRepository(t)
		blob, err := hex.DecodeString(r.git("x", "hash-object", "-w", "--stdin"))
		if err != nil {
			t.Fatal(err)
		}
		var object bytes.Buffer
		object.WriteString("100644 " + name + "\x00")
		object.Write(blob)
		tree := r.git(object.String(), "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
		r.git("", "update-ref", "refs/heads/main", r.git("", "commit-tree", "-m", "x", tree))
		s, err := r.open("main")
		if err != nil {
			continue // git refuses it
		}
		if _, err := s.Tree(t.Context(), ""); err == nil {
			t.Errorf("%q is accepted", name)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFetchEndsWithItsContext(t *testing.T) {
	r := newRepository(t)
	r.write("a", "a")
	r.commit()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	scratch := t.TempDir()
	if _, err := (Source{Where: r.dir, Git: true}).Open(ctx, os.Environ(), scratch); err == nil {
		t.Error("fetched")
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("%v stays: %v", left, err)
	}
}

func TestStageFromGit(t *testing.T) {
	r := newRepository(t)
	r.write("skills/a/SKILL.md", "---\nname: a\ndescription: A\n---\nGo.\n")
	id := r.commit()
	s, err := r.open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	store := plugin.NewStore(t.TempDir())
	from := Source{Where: r.dir, Git: true}
	p, err := Stage(t.Context(), store, from, s, "", DefaultName(from, ""))
	if err != nil || p.Name != "source" || p.Commit != id {
		t.Fatalf("%+v: %v", p, err)
	}
	parts := Inventory(&p, os.Getenv)
	if len(parts) != 1 || parts[0].Line() != "skill       source:a" {
		t.Errorf("%+v", parts)
	}
	if err := store.Unstage(t.Context(), p); err != nil {
		t.Error(err)
	}
}
