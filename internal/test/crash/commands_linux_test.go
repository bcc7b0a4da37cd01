package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/modeltest"
)

// fewKills is how often the tests kill whose rounds take several commands of settle.
const fewKills = 6

// tree has the entries of a directory, by path: the kind, the permissions, and the content or the
// target.
type tree map[string]string

// treeOf reads a directory, without repositories of git and without the temporary files
// that a killed edit can leave (package tool/file).
func treeOf(dir string) (tree, error) {
	t := tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path) // path is below dir
		info, err := d.Info()
		if err != nil {
			return err
		}
		var content string
		switch isTemp, _ := filepath.Match(".settle-*.tmp", d.Name()); {
		case isTemp || name == ".":
			return nil
		case d.Name() == ".git":
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case info.Mode().Type() == fs.ModeSymlink:
			content, err = os.Readlink(path)
		case info.Mode().IsRegular():
			var raw []byte
			raw, err = os.ReadFile(path)
			content = string(raw)
		}
		t[name] = fmt.Sprintf("%v %q", info.Mode(), content)
		return err
	})
	return t, err
}

// plant makes files, directories and links with several permissions.
func plant(dir string) error {
	var errs []error
	for name, mode := range map[string]os.FileMode{
		"a.txt": 0o644, "key.txt": 0o600, "run.sh": 0o755, "fixed.txt": 0o444, ".env": 0o600, "src/f.txt": 0o644,
		"src/deep/g.txt": 0o640, "src/deep/h.txt": 0o644, "src/deep/er/i.txt": 0o600, "other/j.txt": 0o644,
	} {
		path := filepath.Join(dir, name)
		content := []byte(strings.Repeat(name+"\n", 300))
		errs = append(
			errs, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, mode), os.Chmod(path, mode),
		)
	}
	return errors.Join(append(
		errs, os.Mkdir(filepath.Join(dir, "empty"), 0o700), os.Symlink("a.txt", filepath.Join(dir, "link")),
		os.Symlink("nowhere", filepath.Join(dir, "dangling")), os.Symlink("src/deep", filepath.Join(dir, "in")),
	)...)
}

// changers are commands that change the files that plant made. Some do that until they are ended.
func changers() []string {
	return []string{
		"rm -rf src",
		"mv src moved && echo more >> moved/deep/g.txt",
		"mv other/j.txt other/k.txt; rmdir empty",
		"chmod 600 a.txt; chmod 644 key.txt; chmod 700 src/deep",
		"rm link; ln -s key.txt link; rm dangling",
		"rm a.txt && mkdir -p a.txt/sub && echo n > a.txt/sub/n",
		"echo two > new && mv new key.txt && chmod 600 key.txt",
		"mkdir -p made/x; for i in 1 2 3 4 5 6 7 8; do echo $i > made/x/$i; done",
		"cp run.sh run.bak; echo other > run.sh; ln -s run.bak made.link",
		"head -c 200000 /dev/zero > src/f.txt; truncate -s 5 .env",
		"i=0; while :; do i=$((i+1)); echo $i > loop.$((i%20)); echo $i >> a.txt; sleep 0.01; done",
		"for f in src/*/* other/*; do mv $f $f.moved; sleep 0.02; done; sleep 1000",
		"while :; do rm -rf again; mkdir -p again/and; echo x > again/and/x; rm -f src/deep/h.txt; sleep 0.01; done",
	}
}

// changes is a model that changes files with commands and edits, one after another and
// side by side.
func changes(r *rand.Rand, dir string) modeltest.Scenario {
	commands := changers()
	r.Shuffle(len(commands), func(i, j int) { commands[i], commands[j] = commands[j], commands[i] })
	call := func(name string, arguments map[string]any) modeltest.Item {
		raw, _ := json.Marshal(arguments) // never fails
		return modeltest.Call(name, string(raw))
	}
	next := func() modeltest.Item {
		c := commands[0]
		commands = commands[1:]
		return call("shell", map[string]any{"command": c})
	}
	edit := call("edit", map[string]any{
		"path": filepath.Join(dir, "fixed.txt"), "new_string": "edited\n",
		"old_string": strings.Repeat("fixed.txt\n", 300),
	})
	write := call("write", map[string]any{"path": filepath.Join(dir, "written.txt"), "content": "written\n"})
	return modeltest.Script(
		modeltest.Reply(modeltest.Text("I look.")).For("what happened now"),
		modeltest.Reply(next()).Paced(time.Millisecond),
		modeltest.Reply(write, next(), edit),
		modeltest.Reply(next(), next()).Paced(time.Millisecond),
		modeltest.Reply(next(), write),
		modeltest.Say("Done."),
	)
}

// afterKill are the lines of a rewind about files that it keeps because they may have
// changed after the kill, or may be the only copy of such a file: a machine that is busy for
// seconds can date them so.
var afterKill = regexp.MustCompile(
	`(?m)^ +keep +(.*?)/?  \(it may have (?:been changed after settle had been killed|` +
		`the content of .*, which cannot be restored)\)$`,
)

// without returns the tree without the paths, and without the entries below and above them.
func (t tree) without(paths []string) tree {
	out := tree{}
	for name, what := range t {
		if !slices.ContainsFunc(paths, func(p string) bool {
			return p == name || strings.HasPrefix(name, p+"/") || strings.HasPrefix(p, name+"/")
		}) {
			out[name] = what
		}
	}
	return out
}

// rewindOnce rewinds the session to before its first input. It returns the copy, and what settle said.
func (v *victim) rewindOnce() (copied, said string, err error) {
	cmd := v.command("rewind", "s", "1", "--yes")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	return string(raw), stderr.String(), err
}

// rewind rewinds the session to before its first input, whose tree was start, and undoes
// that. It returns how many paths the rewind kept.
func (v *victim) rewind(start tree) (kept int, err error) {
	left, err := treeOf(v.work)
	if err != nil {
		return 0, err
	}
	copied, said, err := v.rewindOnce()
	for from := time.Now(); err != nil && strings.Contains(said, "a turn of session") && time.Since(from) < patience; {
		// A process that the killed one was starting has its lock until it has replaced its program.
		copied, said, err = v.rewindOnce()
	}
	if err != nil {
		return 0, fmt.Errorf("cannot rewind: %w\n%s", err, said)
	}
	var paths []string
	for _, m := range afterKill.FindAllStringSubmatch(said, -1) {
		paths = append(paths, m[1])
	}
	now, err := treeOf(v.work)
	if err != nil {
		return 0, err
	}
	if diff := cmp.Diff(start.without(paths), now.without(paths)); diff != "" {
		return 0, fmt.Errorf("the rewind did not restore the tree (-start +now):\n%s\n%s", diff, said)
	}
	if _, err := v.says("sessions", "check", "s", strings.TrimSpace(copied)); err != nil {
		return 0, err
	}
	if cmp.Equal(left, now) { // there was nothing to restore
		return len(paths), nil
	}
	if _, err := v.says("rewind", "--undo", "--yes"); err != nil {
		return 0, err
	}
	if now, err = treeOf(v.work); err != nil {
		return 0, err
	}
	if diff := cmp.Diff(left, now); diff != "" {
		return 0, fmt.Errorf("the undo did not bring back the tree (-left +now):\n%s\n%s", diff, said)
	}
	return len(paths), nil
}

// killChanges is one round. It reports whether anything was changed, and how many paths the
// rewind kept.
func (s settle) killChanges(t *testing.T, n int, r *rand.Rand) (changed bool, kept int, err error) {
	v, end, err := s.victim(t, n, r, modeltest.Scenario{})
	if err != nil {
		return false, 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	v.server.Then(changes(r, v.work).Turns...)
	config := filepath.Join(v.dir, ".config", "settle")
	if err := errors.Join(
		plant(v.work), os.MkdirAll(config, 0o700),
		os.WriteFile(filepath.Join(config, "config.toml"), []byte("[rewind]\ntimeout = \"30s\"\n"), 0o600),
	); err != nil {
		return false, 0, err
	}
	start, err := treeOf(v.work)
	if err != nil {
		return false, 0, err
	}
	later := time.Duration(r.IntN(60_000)) * time.Microsecond
	if err := v.strike(v.run("go"), 3+r.IntN(50), later, time.Second+10*later); err != nil {
		return false, 0, err
	}
	if _, err := v.awaitGone(); err != nil {
		return false, 0, err
	}
	left, err := treeOf(v.work)
	if err != nil {
		return false, 0, err
	}
	_, missing := os.Stat(filepath.Join(v.dir, "data", "sessions", "s.log"))
	if missing != nil || r.IntN(2) == 0 { // else the rewind itself records the interrupted change
		if err := v.goOn(); err != nil {
			return false, 0, err
		}
		if _, err := v.events("s"); err != nil {
			return false, 0, err
		}
	}
	kept, err = v.rewind(start)
	return !cmp.Equal(start, left), kept, err
}

// C20 and ADR 49: changes by commands and edits before the kill are undone, byte for byte, and the
// undo can be undone.
func TestKilledCommandsAreUndone(t *testing.T) {
	s := built(t)
	var changed, kept atomic.Int64
	rounds(t, fewKills, func(n int, r *rand.Rand) error {
		did, keeps, err := s.killChanges(t, n, r)
		if did {
			changed.Add(1)
		}
		kept.Add(int64(keeps))
		return err
	})
	t.Logf("%d kills after changes; %d paths were kept", changed.Load(), kept.Load())
	if changed.Load() == 0 && !t.Failed() {
		t.Error("nothing was changed before a kill")
	}
	s.ended(t)
}
