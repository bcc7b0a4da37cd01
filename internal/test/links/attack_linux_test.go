package links

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/search"
)

const (
	secret     = "the-secret-text"
	secretName = "the-secret-name"
	workers    = 4
)

// field is the environment of an attack.
type field struct {
	work, outside string
	policy        *policy.Policy
	tools         *tool.Set

	swaps   atomic.Int64
	mounts  atomic.Bool
	mu      sync.Mutex // guards the fields below
	report  report
	escaped map[string]bool
}

// playAttack attacks in a directory, and writes a report to its output.
func playAttack(dir, calls string) int {
	n, err := strconv.Atoi(calls)
	if err != nil {
		return fail(err)
	}
	f, err := newField(dir)
	if err != nil {
		return fail(err)
	}
	before, err := f.fingerprint()
	if err != nil {
		return fail(err)
	}
	swaps, err := f.swappers()
	if err != nil {
		return fail(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var swappers, callers sync.WaitGroup
	for _, swap := range swaps {
		swappers.Go(func() { // ends with ctx
			for ctx.Err() == nil {
				swap()
				f.swaps.Add(1)
			}
		})
	}
	for w := range workers {
		callers.Go(func() { // ends after its share of the calls
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for range n / workers {
				f.call(random)
			}
		})
	}
	callers.Wait()
	stop()
	swappers.Wait()
	after, err := f.fingerprint()
	if err != nil {
		return fail(err)
	}
	if before != after {
		f.escape("what is outside has changed from\n" + before + "to\n" + after)
	}
	f.report.Swaps, f.report.Mounts = f.swaps.Load(), f.mounts.Load()
	if err := json.NewEncoder(os.Stdout).Encode(f.report); err != nil {
		return fail(err)
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// newField makes a working directory, and beside it a folder of the same shape with
// the secret in each file.
func newField(dir string) (*field, error) {
	f := &field{work: filepath.Join(dir, "work"), outside: filepath.Join(dir, "outside"), escaped: map[string]bool{}}
	for _, name := range []string{"f", "d/f", "g/d/f", "g/d/e/f", "mounted/f"} {
		for at, text := range map[string]string{f.work: "harmless\n", f.outside: secret + "\n"} {
			if err := os.MkdirAll(filepath.Join(at, filepath.Dir(name)), 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
				return nil, err
			}
		}
		beside := filepath.Join(f.outside, filepath.Dir(name), secretName)
		if err := os.WriteFile(beside, []byte(secret+"\n"), 0o600); err != nil {
			return nil, err
		}
	}
	spare := filepath.Join(f.work, ".spare")
	if err := os.Mkdir(spare, 0o755); err != nil {
		return nil, err
	}
	edits := []config.Rule{{Tool: "edit", Decision: event.Allow}}
	var err error
	f.policy, err = policy.New(policy.Config{
		Mode: func() policy.Mode { return policy.Mode{Permission: event.Ask, Rules: edits} }, Dir: f.work,
	})
	if err != nil {
		return nil, err
	}
	held, err := disk.HoldWorkDir(f.work) // as long as the process
	if err != nil {
		return nil, err
	}
	f.tools, err = tool.NewSet(append(
		file.NewWorkspace(file.Config{}.In(held)).Tools(),
		search.Tools(search.Config{Private: policy.Secret}.In(held))...,
	)...)
	return f, err
}

// fingerprint returns the state of all entries outside, with the inode of each.
func (f *field) fingerprint() (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(f.outside, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var stat unix.Stat_t
		if err := unix.Lstat(path, &stat); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %o %d", strings.TrimPrefix(path, f.outside), stat.Mode, stat.Ino)
		if entry.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", text)
		}
		b.WriteByte('\n')
		return nil
	})
	return b.String(), err
}

// swappers change the targets of paths, each in a tight loop. They use the directories that they
// have opened, since they could not write outside either.
func (f *field) swappers() ([]func(), error) {
	at := func(name string) string { return filepath.Join(f.work, name) }
	out := func(name string) string { return filepath.Join(f.outside, name) }
	dirs := map[string]int{}
	for _, name := range []string{".", "d", "g", "g/d", "g/d/e", ".spare"} {
		fd, err := unix.Open(at(name), unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		dirs[name] = fd
	}
	spare := dirs[".spare"]
	var all []func()
	for _, name := range []string{"f", "d", "g", "g/d/e", "g/d/e/f"} {
		in, base := dirs[filepath.Dir(name)], filepath.Base(name)
		evil := strings.ReplaceAll(name, "/", "-")
		if err := unix.Symlinkat(out(name), spare, evil); err != nil {
			return nil, err
		}
		all = append(all, func() { _ = unix.Renameat2(in, base, spare, evil, unix.RENAME_EXCHANGE) })
	}
	all = append(all, func() {
		_ = unix.Linkat(unix.AT_FDCWD, out("d/f"), spare, "hard", 0)
		_ = unix.Renameat(spare, "hard", dirs["d"], "f")
	})
	all = append(all, func() {
		_ = unix.Mkfifoat(spare, "pipe", 0o600)
		_ = unix.Renameat(spare, "pipe", dirs["g/d"], "f")
	})
	all = append(all, func() {
		_ = os.WriteFile(at(".spare/plain"), []byte("harmless\n"), 0o600)
		_ = unix.Renameat(spare, "plain", dirs[[]string{".", "d", "g/d", "g/d/e"}[rand.IntN(4)]], "f")
	})
	if f.bind(out("mounted"), at("mounted")) {
		all = append(all, func() { f.bind(out("mounted"), at("mounted")); f.bind(out("mounted/f"), at("mounted/f")) })
		return all, nil
	}
	// The working directory itself, where no mount goes by its name.
	evil := f.work + "-evil"
	if err := os.Symlink(f.outside, evil); err != nil {
		return nil, err
	}
	return append(all, func() {
		if rand.IntN(100) > 0 { // most calls find the directory
			return
		}
		_ = unix.Renameat2(unix.AT_FDCWD, f.work, unix.AT_FDCWD, evil, unix.RENAME_EXCHANGE)
		_ = unix.Renameat2(unix.AT_FDCWD, f.work, unix.AT_FDCWD, evil, unix.RENAME_EXCHANGE)
	}), nil
}

// bind mounts something over something else for a moment, in a namespace of mounts of
// the process's own, and reports whether that can be done.
func (f *field) bind(what, over string) bool {
	if unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") != nil ||
		unix.Mount(what, over, "", unix.MS_BIND, "") != nil {
		return false
	}
	f.mounts.Store(true)
	return unix.Unmount(over, unix.MNT_DETACH) == nil
}

// call makes a call, has it judged, and runs it if it needs no approval: all approvals are denied.
func (f *field) call(random *rand.Rand) {
	path := []string{"f", "d/f", "g/d/f", "g/d/e/f", "mounted/f"}[random.IntN(5)]
	dir := []string{".", "d", "g", "g/d/e", "mounted"}[random.IntN(5)]
	patch := "*** Begin Patch\n*** Update File: " + path + "\n@@\n-harmless\n+harmless too\n*** End Patch\n"
	call := []struct {
		name string
		args map[string]any
	}{
		{"read", map[string]any{"path": path}},
		{"read", map[string]any{"path": path + "ew"}}, // which suggests other names
		{"write", map[string]any{"path": path, "content": "harmless\n"}},
		{"write", map[string]any{"path": fmt.Sprintf("%s/new/f%d", dir, random.IntN(20)), "content": "harmless\n"}},
		{"edit", map[string]any{"path": path, "old_string": "harmless", "new_string": "harmless"}},
		{"edit", map[string]any{"path": path, "old_string": "harmless\n", "new_string": "harmless\nand more\n"}},
		{"apply_patch", map[string]any{"input": patch}},
		{"apply_patch", map[string]any{"input": "*** Begin Patch\n*** Delete File: " + path + "\n*** End Patch\n"}},
		{"grep", map[string]any{"pattern": "secret|harmless", "path": dir}},
		{"grep", map[string]any{"pattern": "secret|harmless", "path": path}},
		{"glob", map[string]any{"pattern": "**", "path": dir}},
		{"glob", map[string]any{"pattern": dir + "/*"}},
		{"list", map[string]any{"path": dir, "depth": 5}},
	}[random.IntN(13)]
	raw, err := json.Marshal(call.args)
	if err != nil {
		f.escape(err.Error())
		return
	}
	t, _ := f.tools.Lookup(call.name)
	j := f.policy.Judge(settle.Approval{Tool: t.Spec(), Arguments: string(raw)})
	f.count(func(r *report) { r.Calls++ })
	if j.Decision != event.Allow {
		f.count(func(r *report) { r.Refused++ })
		return
	}
	result, err := f.tools.Run(
		context.Background(),
		tool.Call{Name: call.name, Args: raw, Dir: f.work, Places: j.Places},
	)
	f.look(call.name, string(raw), result, err)
}

// look checks that the result of a call shows nothing forbidden.
func (f *field) look(name, args string, result tool.Result, err error) {
	said := result.Output + string(result.Detail)
	if err != nil {
		said += err.Error()
	}
	switch {
	case strings.Contains(strings.ReplaceAll(said, "secret|harmless", ""), secret):
		f.escape(name + " read the secret: " + args)
	case strings.Contains(said, secretName):
		f.escape(name + " saw a name outside: " + args)
	}
	f.count(func(r *report) {
		switch {
		case err != nil:
			r.Refused++
		case name == "write", name == "edit", name == "apply_patch":
			r.Changed++
		default:
			r.Read++
		}
	})
}

func (f *field) count(change func(*report)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.report)
}

// escape reports a way out; each once.
func (f *field) escape(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.escaped[what] {
		f.escaped[what] = true
		f.report.Escapes = append(f.report.Escapes, what)
	}
}
