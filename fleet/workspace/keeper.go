package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/internal/executor"
)

const (
	defaultKiB           = 4 << 20
	defaultCheckpointKiB = 64 << 10
	defaultTimeout       = 10 * time.Minute
)

// Keeper makes workspaces and keeps checkpoints of them.
type Keeper struct {
	Store Store
	// Dir is the directory of the workspaces on this machine. A later keeper there finds
	// them.
	Dir string
	// Machine connects to the machine of a task's executor, from a directory of
	// this one. leave closes the connection.
	Machine func(ctx context.Context, t fleet.Task, dir string) (h executor.Executor, leave func(), err error)
	// KiB bounds the files of a new workspace, and the fetch for it. CheckpointKiB bounds
	// a stored checkpoint. Timeout bounds the time of each. 0 means 4 GiB, 64 MiB and ten
	// minutes.
	KiB, CheckpointKiB int
	Timeout            time.Duration
}

// folder returns the directory of the session's workspace on this machine.
func (k *Keeper) folder(session string) string {
	return filepath.Join(k.Dir, folderPrefix+url.PathEscape(session))
}

const (
	folderPrefix = "s-" // so that no session is called ".."
	treeFolder   = "tree"
)

// place is a workspace and the executor that runs scripts in it.
type place struct {
	executor executor.Executor
	leave    func()
	// startDir is the first directory of scripts, and dir that of the workspace, on that machine; localDir is
	// the directory of the session on this one.
	startDir, dir, localDir string
}

// reach connects to the machine of the task's executor.
func (k *Keeper) reach(ctx context.Context, t fleet.Task) (*place, error) {
	p := &place{localDir: k.folder(t.Session)}
	if err := os.MkdirAll(p.localDir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make a folder for the workspace: %w", err)
	}
	var err error
	if p.executor, p.leave, err = k.Machine(ctx, t, p.localDir); err != nil {
		return nil, err
	}
	if p.dir = p.executor.Machine().Dir; p.dir != "" { // it is the task's own, elsewhere
		p.startDir = p.dir
		return p, nil
	}
	p.startDir, p.dir = p.localDir, filepath.Join(p.localDir, treeFolder)
	p.localDir = p.dir
	return p, nil
}

// Prepare makes the session's workspace if it is missing. The session opens in the Dir of the
// place that it returns.
func (k *Keeper) Prepare(ctx context.Context, a fleet.Attempt) (fleet.Place, error) {
	ctx, cancel := context.WithTimeoutCause(
		ctx, cmp.Or(k.Timeout, defaultTimeout), fmt.Errorf("it took more than %v", cmp.Or(k.Timeout, defaultTimeout)),
	)
	defer cancel()
	place, err := k.prepare(ctx, a)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return place, fmt.Errorf("cannot prepare the workspace: %w", err)
	}
	return place, nil
}

func (k *Keeper) prepare(ctx context.Context, a fleet.Attempt) (fleet.Place, error) {
	t := a.Task
	previous, err := k.Store.find(ctx, t.Session)
	if err != nil {
		return fleet.Place{}, err
	}
	if previous != nil && (previous.repo != t.Repo || t.Ref != "" && previous.ref != t.Ref) {
		return fleet.Place{}, fmt.Errorf("the session works in %s at %q already", previous.repo, previous.ref)
	}
	p, err := k.reach(ctx, t)
	if err != nil {
		return fleet.Place{}, err
	}
	defer p.leave()
	line, _, err := script{text: lookScript, dir: p.startDir, env: p.env(t)}.run(ctx, p.executor)
	if err != nil {
		return fleet.Place{}, err
	}
	if previous != nil && line == "here "+previous.instance {
		return fleet.Place{Dir: p.localDir, Base: previous.base, Instance: previous.instance}, nil
	}
	return k.make(ctx, a, p, previous)
}

// env returns the variables of all scripts, and more.
func (p *place) env(t fleet.Task, more ...string) []string {
	return append([]string{"W_DIR=" + p.dir, "W_SESSION=" + t.Session}, more...)
}

// make creates the workspace, again if there was one.
func (k *Keeper) make(ctx context.Context, a fleet.Attempt, p *place, previous *record) (fleet.Place, error) {
	t := a.Task
	current := record{repo: t.Repo, ref: t.Ref, instance: rand.Text()}
	s := script{text: cloneScript, dir: p.startDir}
	var c fleet.Checkpoint
	if previous != nil {
		current = *previous
		current.instance = rand.Text()
		if c.Branch = previous.branch; previous.checkpoint != nil {
			c = *previous.checkpoint
		}
		if c.Bytes > 0 {
			var err error
			if s.input, err = k.bundle(ctx, previous); err != nil {
				return fleet.Place{}, err
			}
		}
	}
	hasBundle := ""
	if s.input != nil {
		hasBundle = "yes"
	}
	s.env = p.env(
		t, "W_REPO="+current.repo, "W_REF="+current.ref, "W_DEPTH="+strconv.Itoa(t.Depth),
		"W_INSTANCE="+current.instance,
		"W_KIB="+strconv.Itoa(cmp.Or(k.KiB, defaultKiB)), "W_BASE="+current.base, "W_BRANCH="+c.Branch, "W_HEAD="+c.Head,
		"W_COMMIT="+c.Commit, "W_BUNDLE="+hasBundle,
	)
	line, _, err := s.run(ctx, p.executor)
	if err != nil {
		return fleet.Place{}, err
	}
	current.base, current.branch, _ = strings.Cut(line, " ")
	if previous != nil {
		current.branch = previous.branch
	}
	if err := k.Store.setInstance(ctx, a, current); err != nil {
		return fleet.Place{}, err
	}
	return fleet.Place{
		Dir: p.localDir, Base: current.base, Instance: current.instance, Note: loss(previous), Turn: c.Turn,
	}, nil
}

// bundle returns the bundle of the last checkpoint.
func (k *Keeper) bundle(ctx context.Context, previous *record) ([]byte, error) {
	o := &output{maxData: previous.checkpoint.Bytes}
	n, err := k.Store.read(ctx, previous.bundle, o)
	if err != nil {
		return nil, fmt.Errorf("cannot read the last checkpoint: %w", err)
	}
	if n != previous.checkpoint.Bytes {
		return nil, fmt.Errorf("the last checkpoint has %d of %d bytes", n, previous.checkpoint.Bytes)
	}
	return o.data.Bytes(), nil
}

// loss describes the changes that were lost with a workspace; "" if there was none.
func loss(previous *record) string {
	const ignored = "Files that git ignores, such as dependencies and build results, are not there; processes have ended."
	switch {
	case previous == nil:
		return ""
	case previous.checkpoint == nil:
		return fmt.Sprintf("The working directory was lost, and was created again from commit %s of the repository. "+
			"No checkpoint had been taken: everything that was changed or committed in it is lost. %s",
			previous.base, ignored)
	}
	c := previous.checkpoint
	text := fmt.Sprintf(
		"The working directory was lost, and was created again from the checkpoint of %s, after turn %s. "+
			"Everything that was changed or committed after that is lost. %s",
		c.Taken.UTC().Format(time.DateTime),
		c.Turn,
		ignored,
	)
	if c.Missing != "" {
		text += " The checkpoint did not have everything: " + c.Missing + "."
	}
	return text
}

// Checkpoint stores the state of the workspace after a turn.
func (k *Keeper) Checkpoint(
	ctx context.Context, a fleet.Attempt, at fleet.Place, turn string,
) (fleet.Checkpoint, error) {
	limit := cmp.Or(k.Timeout, defaultTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took more than %v", limit))
	defer cancel()
	c, err := k.checkpoint(ctx, a, at, turn)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, fleet.ErrLost) {
			err = cause
		}
		return c, fmt.Errorf("cannot take a checkpoint: %w", err)
	}
	return c, nil
}

func (k *Keeper) checkpoint(
	ctx context.Context, a fleet.Attempt, at fleet.Place, turn string,
) (c fleet.Checkpoint, err error) {
	p, err := k.reach(ctx, a.Task)
	if err != nil {
		return c, err
	}
	defer p.leave()
	kib := cmp.Or(k.CheckpointKiB, defaultCheckpointKiB)
	line, data, err := script{text: checkpointScript, dir: p.startDir, maxData: int64(kib) << 10, env: p.env(
		a.Task, "W_INSTANCE="+at.Instance, "W_BASE="+at.Base, "W_KIB="+strconv.Itoa(kib),
		"W_MESSAGE=settle: the files after turn "+turn,
	)}.run(ctx, p.executor)
	if err != nil {
		return c, err
	}
	words := append(strings.SplitN(line, " ", 5), "", "", "", "", "")
	c = fleet.Checkpoint{
		Base:    at.Base,
		Head:    words[0],
		Commit:  words[1],
		Missing: words[4],
		Turn:    turn,
		Epoch:   a.Epoch,
		Taken:   time.Now().UTC(),
	}
	if words[3] != "-" {
		c.Branch = words[3]
	}
	if c.Bytes, err = strconv.ParseInt(words[2], 10, 64); err != nil || c.Bytes != int64(len(data)) {
		return c, fmt.Errorf("the bundle has %s bytes, and %d came", words[2], len(data))
	}
	return c, k.Store.put(ctx, a, c, data)
}

// Sweep removes the workspaces on this machine whose sessions the database does not
// have any more.
func (k *Keeper) Sweep(ctx context.Context) error {
	entries, err := os.ReadDir(k.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var sessions []string
	for _, e := range entries {
		name, isWorkspace := strings.CutPrefix(e.Name(), folderPrefix)
		if session, err := url.PathUnescape(name); err == nil && isWorkspace {
			sessions = append(sessions, session)
		}
	}
	if err != nil || len(sessions) == 0 {
		return err
	}
	deleted, err := k.Store.deletedSessions(ctx, sessions)
	for _, session := range deleted {
		err = errors.Join(err, remove(k.folder(session)))
	}
	return err
}

// remove removes a folder, also where something in it is read-only.
func remove(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(path string, e os.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) // it is removed
		}
		return nil
	})
	return os.RemoveAll(path)
}
