package file

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool"
)

// maxPlanBytes bounds the files that one patch holds in memory.
const maxPlanBytes = 64 << 20

// plan is the result of a patch, computed in memory before any write.
type plan struct {
	w     *Workspace
	call  tool.Call
	files map[string]*planned // by key
	order []*planned          // in the order of the patch
	bytes int
}

// planned is a file before and after the patch.
type planned struct {
	*snapshot
	content []byte // nil for no file
	moved   *planned
}

// lock takes the locks of all paths of a patch at once.
func (p *plan) lock(ctx context.Context, ops []patchOp) (release func(), err error) {
	var keys []string
	for _, op := range ops {
		for _, path := range []string{op.path, op.moveTo} {
			if path == "" {
				continue
			}
			place, err := p.w.locate(p.call, path)
			if err != nil {
				return nil, fmt.Errorf("line %d of the patch: %w\nNothing was written", op.line, err)
			}
			keys = append(keys, place.key)
		}
	}
	return p.w.locks.acquire(ctx, keys...)
}

// close closes the directories of the plan's files.
func (p *plan) close() {
	for _, f := range p.files {
		f.close()
	}
}

// file returns the plan's file at a path, and loads it if necessary.
func (p *plan) file(ctx context.Context, path string) (*planned, error) {
	place, err := p.w.locate(p.call, path)
	if err != nil {
		return nil, err
	}
	if f := p.files[place.key]; f != nil {
		return f, nil
	}
	s, err := p.w.load(ctx, place)
	if err != nil {
		return nil, err
	}
	if p.bytes += len(s.data); p.bytes > maxPlanBytes {
		s.close()
		return nil, fmt.Errorf("the files of the patch have more than %s together; use several patches",
			byteCount(maxPlanBytes))
	}
	f := &planned{snapshot: s, content: s.data}
	p.files[place.key] = f
	p.order = append(p.order, f)
	return f, nil
}

// apply applies one section to the plan.
func (p *plan) apply(ctx context.Context, op patchOp) error {
	f, err := p.file(ctx, op.path)
	if err != nil {
		return fmt.Errorf("line %d of the patch: %w", op.line, err)
	}
	switch op.kind {
	case opAdd:
		err = p.add(f, op)
	case opDelete:
		err = p.remove(f)
	case opUpdate:
		err = p.update(ctx, f, op)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "line ") {
		err = fmt.Errorf("line %d of the patch: %w", op.line, err)
	}
	return err
}

func (p *plan) add(f *planned, op patchOp) error {
	if f.content != nil {
		if err := p.w.mayReplace(f.snapshot); err != nil {
			return fmt.Errorf("%q exists already; change it with Update File", f.Shown)
		}
	}
	text := ""
	if len(op.add) > 0 {
		text = strings.Join(op.add, "\n") + "\n"
	}
	if err := p.w.checkMask(op.path, text); err != nil {
		return err
	}
	f.content, _ = keepForm(f.data, text)
	return nil
}

func (p *plan) remove(f *planned) error {
	if err := f.mayVanish("delete"); err != nil {
		return err
	}
	f.content = nil
	return nil
}

// mayVanish refuses to remove another file than the patch names.
func (f *planned) mayVanish(verb string) error {
	if f.content == nil {
		return fmt.Errorf("there is no file %q to %s%s", f.Shown, verb, suggest(f.Place))
	}
	if dir, err := disk.Resolve(filepath.Dir(f.Named)); err != nil ||
		filepath.Join(dir, filepath.Base(f.Named)) != f.Real {
		return fmt.Errorf("%q is a symbolic link; %s it with a shell command", f.Shown, verb)
	}
	return nil
}

func (p *plan) update(ctx context.Context, f *planned, op patchOp) error {
	if f.content == nil {
		return fmt.Errorf("there is no file %q to update%s", f.Shown, suggest(f.Place))
	}
	for _, h := range op.hunks {
		for _, l := range h.lines {
			if l.mark != '+' {
				continue
			}
			if err := p.w.checkMask(op.path, l.text); err != nil {
				return fmt.Errorf("line %d of the patch: %w", h.line, err)
			}
		}
	}
	content, err := applyHunks(ctx, f.Shown, f.content, op.hunks)
	if err != nil {
		return err
	}
	if op.moveTo == "" {
		f.content = content
		return nil
	}
	to, err := p.file(ctx, op.moveTo)
	if err != nil {
		return err
	}
	if to == f {
		f.content = content
		return nil
	}
	if err := f.mayVanish("move"); err != nil {
		return err
	}
	if to.content != nil {
		return fmt.Errorf("cannot move %q to %q: that exists already", f.Shown, to.Shown)
	}
	to.content, to.moved, f.content = content, f, nil
	return nil
}

// changed reports whether the plan changes the file.
func (f *planned) changed() bool {
	return (f.content == nil) != !f.exists() || string(f.content) != string(f.data)
}

// carryOut writes the plan. It stages all new content before it replaces the first file, so
// that a full disk causes no change.
func (p *plan) carryOut(ctx context.Context) (result tool.Result, err error) {
	all := p.inOrder()
	_, changes := p.report(all)
	p.w.intends(p.call, changes...)
	ready, err := p.stageAll()
	defer func() {
		for _, st := range ready {
			err = errors.Join(err, st.discard())
		}
		if err == nil {
			return
		}
		for _, f := range slices.Backward(p.order) { // a directory can have been made for several files
			f.removeMade()
		}
	}()
	if err != nil {
		return tool.Result{}, err
	}
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	var done []*planned
	for _, f := range all {
		if err := p.finish(f, ready[f]); err != nil {
			return p.result(done), partly(done, err)
		}
		done = append(done, f)
	}
	if len(done) == 0 {
		return tool.Result{}, errors.New("the patch changes nothing: the files are already as it would leave them")
	}
	return p.result(done), nil
}

// inOrder returns the files to change, files to delete last: a moved file exists in its new
// place before it leaves the old one.
func (p *plan) inOrder() []*planned {
	var writes, deletes []*planned
	for _, f := range p.order {
		switch {
		case !f.changed():
		case f.content == nil:
			deletes = append(deletes, f)
		default:
			writes = append(writes, f)
		}
	}
	return append(writes, deletes...)
}

func (p *plan) stageAll() (map[*planned]*staged, error) {
	ready := map[*planned]*staged{}
	for _, f := range p.order {
		if !f.changed() {
			continue
		}
		if f.content == nil {
			f.keepData()
			continue
		}
		var like fs.FileInfo
		if f.moved != nil {
			like = f.moved.info
		}
		st, err := stage(f.snapshot, f.content, like)
		if err != nil {
			return ready, err
		}
		ready[f] = st
	}
	return ready, nil
}

// finish writes one file of the plan.
func (p *plan) finish(f *planned, st *staged) error {
	if st != nil {
		if err := st.commit(); err != nil {
			return err
		}
		if f.exists() {
			p.w.learnChange(f.place, f.data, f.content)
		} else {
			p.w.learn(f.place, sha256.Sum256(f.content))
		}
		return nil
	}
	if err := f.unchanged(); err != nil {
		return err
	}
	if err := f.dir.Remove(f.Base()); err != nil {
		return fmt.Errorf("cannot delete %q: %w", f.Shown, err)
	}
	p.w.forget(f.place)
	return nil
}

// partly reports which files a failed patch has changed.
func partly(done []*planned, err error) error {
	if len(done) == 0 {
		return fmt.Errorf("%w\nNothing was written", err)
	}
	names := make([]string, len(done))
	for i, f := range done {
		names[i] = fmt.Sprintf("%q", f.Shown)
	}
	return fmt.Errorf("%w\nThe patch is applied in part: done are %s, nothing else was changed", err,
		strings.Join(names, ", "))
}

// result reports the changes.
func (p *plan) result(done []*planned) tool.Result {
	text, changes := p.report(done)
	return tool.Result{Output: text, Detail: detail(changes...)}
}

// report lists the plan's changes with the letters of version control.
func (p *plan) report(done []*planned) (text string, changes []Change) {
	var out strings.Builder
	out.WriteString("patched:")
	changes = make([]Change, 0, len(done))
	room := maxDiffBytes
	for _, f := range done {
		if f.content == nil && p.movedFrom(f) {
			continue // reported with its new path
		}
		c, letter := newChange(f.Shown, "", before(f), f.content, room), "M"
		switch {
		case f.moved != nil:
			c, letter = newChange(f.Shown, f.moved.Shown, f.moved.data, f.content, room), "R"
		case f.content == nil:
			letter = "D"
		case !f.exists():
			letter = "A"
		}
		c.record(f.snapshot)
		if f.moved != nil {
			c.recordMove(f.moved.snapshot)
		}
		room -= len(c.Diff)
		changes = append(changes, c)
		fmt.Fprintf(&out, "\n%s %s (%s)", letter, f.Shown, c.counts())
		if f.moved != nil {
			fmt.Fprintf(&out, " from %s", f.moved.Shown)
		}
	}
	return out.String(), changes
}

func before(f *planned) []byte {
	if !f.exists() {
		return nil
	}
	return f.data
}

func (p *plan) movedFrom(f *planned) bool {
	for _, source := range p.order {
		if source.moved == f && source.content != nil {
			return true
		}
	}
	return false
}
