//go:build machine

package crash

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/modeltest"
)

// git runs git in the repository of the victim.
func (v *victim) git(args ...string) (string, error) {
	all := append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com"}, args...)
	cmd := exec.CommandContext(v.ctx, "git", all...)
	cmd.Dir, cmd.Env = v.work, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + v.dir}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// repository makes a repository with one commit.
func (v *victim) repository() error {
	if err := plant(v.work); err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		if _, err := v.git(args...); err != nil {
			return err
		}
	}
	return nil
}

// worktree returns the path of the session's worktree.
func (v *victim) worktree() string { return filepath.Join(v.dir, "data", "worktrees", v.session) }

// checkout returns the files, the state and the branch of the user's checkout.
func (v *victim) checkout() (string, error) {
	files, err := treeOf(v.work)
	if err != nil {
		return "", err
	}
	status, err := v.git("status", "--porcelain=v1", "--branch")
	if err != nil {
		return "", err
	}
	head, err := v.git("rev-parse", "HEAD", "main")
	return fmt.Sprintf("%v\n%s%s", files, status, head), err
}

// changesOrReads is a model that changes the worktree, or makes one call again and again. In
// the next turn, it looks where it works.
func changesOrReads(r *rand.Rand, only string) modeltest.Scenario {
	call := func(command string) modeltest.Turn {
		return modeltest.Reply(modeltest.Call("shell", fmt.Sprintf(`{"command":%q}`, command)))
	}
	turns := []modeltest.Turn{
		modeltest.Reply(modeltest.Call("shell", `{"command":"pwd -P"}`)).For("what happened now"),
		modeltest.Say("I looked.").For("what happened now"),
	}
	commands := changers()
	r.Shuffle(len(commands), func(i, j int) { commands[i], commands[j] = commands[j], commands[i] })
	for _, c := range commands[:4] {
		if only != "" {
			c = only
		}
		turns = append(turns, call(c))
	}
	return modeltest.Script(append(turns, modeltest.Say("Done."))...)
}

// killWorktree is one round, and reports whether the worktree was kept.
func (s settle) killWorktree(t *testing.T, n int, r *rand.Rand) (kept bool, err error) {
	only := ""
	if r.IntN(3) == 0 {
		only = "cat a.txt src/f.txt; sleep 0.05"
	}
	v, end, err := s.victim(t, n, r, changesOrReads(r, only))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := v.repository(); err != nil {
		return false, err
	}
	before, err := v.checkout()
	if err != nil {
		return false, err
	}
	micros := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Microsecond }
	k, latest := 3+r.IntN(40), time.Second+micros(1_000_000)
	if r.IntN(4) == 0 { // while it makes the worktree
		k, latest = 1000, micros(300_000)
	}
	if err := v.strike(v.run("go", "--worktree"), k, micros(60_000), latest); err != nil {
		return false, err
	}
	if _, err := v.awaitGone(); err != nil {
		return false, err
	}
	left, err := treeOf(v.worktree())
	if errors.Is(err, os.ErrNotExist) {
		left, err = nil, nil
	}
	if err != nil {
		return false, err
	}
	var flags []string
	if info, err := os.Stat(filepath.Join(v.dir, "data", "sessions", "s.log")); err != nil || info.Size() == 0 {
		// The next session with a worktree in the repository completes the unfinished end.
		v.session, flags, left = "next", []string{"--worktree"}, nil
	} else if list, err := v.says("sessions", "list"); err != nil {
		return false, err
	} else if left != nil && !strings.Contains(list, v.worktree()) {
		return false, fmt.Errorf("the worktree that was left is not named:\n%s", list)
	}
	if err := v.goOn(flags...); err != nil {
		return false, err
	}
	kept, err = v.worktreeEnds(left)
	if v.session == "next" {
		branches, failure := v.git("branch", "--list", "settle/s")
		if _, missing := os.Stat(filepath.Join(v.dir, "data", "worktrees", "s")); missing == nil || branches != "" {
			left := fmt.Errorf("the cut start left branch %q; its folder: %v", branches, missing)
			failure = errors.Join(failure, left)
		}
		err = errors.Join(err, failure)
	}
	after, failure := v.checkout()
	if after != before {
		err = errors.Join(err, fmt.Errorf("the repository's own checkout changed:\n%s", cmp.Diff(before, after)))
	}
	_, fsck := v.git("fsck", "--strict", "--no-dangling")
	return kept, errors.Join(err, failure, fsck)
}

// worktreeEnds checks the outcome of the worktree that had the files when settle was killed, and
// reports whether it was kept.
func (v *victim) worktreeEnds(left tree) (kept bool, err error) {
	events, err := v.events(v.session)
	if err != nil {
		return false, err
	}
	var where string
	hosts := 0
	for _, e := range events {
		if _, ok := e.Data.(event.SessionOpened); ok {
			hosts++
		}
		if d, ok := e.Data.(event.ItemEnded); ok && d.Type == event.ToolCall && strings.HasPrefix(d.Output, "/") {
			where = strings.TrimSpace(d.Output)
		}
	}
	if hosts == 1 && v.session == "s" { // the first host was killed before its first record was whole
		return false, nil
	}
	if where != v.worktree() {
		return false, fmt.Errorf("the session went on in %q, not in its worktree; its log begins with %+v",
			where, events[:min(len(events), 4)])
	}
	end := events[len(events)-1].Data.(event.SessionClosed).Worktree // events has checked its type
	if end == nil {
		return false, errors.New("session.closed does not name the worktree")
	}
	list, err := v.git("worktree", "list", "--porcelain")
	if err != nil {
		return false, err
	}
	branches, err := v.git("branch", "--list", "settle/*")
	if err != nil {
		return false, err
	}
	_, missing := os.Stat(v.worktree())
	start, err := treeOf(v.work)
	if err != nil {
		return false, err
	}
	status, _ := v.git("-C", v.worktree(), "status", "--porcelain") // fails if it was removed
	is := fmt.Sprintf("kept %v (%s), on disk: %v\n%s%s%s", end.Kept, end.Why, missing, list, branches, status)
	changed := left != nil && !cmp.Equal(start.inGit(), left.inGit())
	listed, branched := strings.Contains(list, v.worktree()), strings.Contains(branches, "settle/"+v.session+"\n")
	switch {
	case end.Kept != (missing == nil) || end.Kept != listed || end.Kept != branched:
		return false, fmt.Errorf("the log, the disk and git disagree: %s", is)
	case end.Kept != changed:
		return false, fmt.Errorf("changed: %v; %s%s", changed, is, cmp.Diff(start, left))
	case strings.Contains(list, "locked") || strings.Contains(list, "prunable"):
		return false, fmt.Errorf("git does not have it as the user's: %s", is)
	}
	if !end.Kept {
		return false, nil
	}
	now, err := treeOf(v.worktree())
	if err != nil {
		return true, err
	}
	if diff := cmp.Diff(left, now); diff != "" {
		return true, fmt.Errorf("the worktree lost changes (-left +now):\n%s", diff)
	}
	return true, nil
}

// inGit returns the part of the tree that git tracks: no directories, and of permissions only x.
func (t tree) inGit() tree {
	out := tree{}
	for name, what := range t {
		mode, content, _ := strings.Cut(what, " ")
		switch {
		case strings.HasPrefix(mode, "d"):
			continue
		case len(mode) > 3 && mode[3] == 'x':
			content = "x " + content
		}
		out[name] = mode[:1] + " " + content
	}
	return out
}

// C19 and C20 for worktrees: a kill loses nothing in the session's worktree, changes nothing in the
// user's checkout, and the next host completes the unfinished end.
func TestKilledWorktree(t *testing.T) {
	s := built(t)
	var kept atomic.Int64
	rounds(t, fewKills, func(n int, r *rand.Rand) error {
		is, err := s.killWorktree(t, n, r)
		if is {
			kept.Add(1)
		}
		return err
	})
	t.Logf("%d worktrees were kept", kept.Load())
	s.ended(t)
}
