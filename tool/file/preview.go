package file

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/settle-agent/settle/tool"
)

// Preview returns the changes that a call of write, edit or apply_patch would make now, in
// the form of its result's Detail, and changes nothing. It assumes that the model knows the
// files that the call replaces. An error is the error of the call.
func Preview(ctx context.Context, call tool.Call) (json.RawMessage, error) {
	w := &Workspace{masked: func(string) bool { return false }, known: map[string]digest{}}
	switch call.Name {
	case "write":
		in, err := decode[WriteArguments](call)
		if err != nil {
			return nil, err
		}
		return w.preview(ctx, call, in.Path, func(s *snapshot) ([]byte, error) {
			content, _ := keepForm(s.data, in.Content)
			return content, nil
		})
	case "edit":
		in, err := decode[EditArguments](call)
		if err != nil {
			return nil, err
		}
		return w.preview(ctx, call, in.Path, func(s *snapshot) ([]byte, error) {
			content, _, err := substitute(ctx, s, in)
			return content, err
		})
	case "apply_patch":
		return w.previewPatch(ctx, call)
	}
	return nil, fmt.Errorf("cannot preview %q: it does not change files", call.Name)
}

func (w *Workspace) preview(ctx context.Context, call tool.Call, path string,
	change func(*snapshot) ([]byte, error),
) (json.RawMessage, error) {
	p, err := w.locate(call, path)
	if err != nil {
		return nil, err
	}
	s, err := w.load(ctx, p)
	if err != nil {
		return nil, err
	}
	defer s.close()
	content, err := change(s)
	if err != nil {
		return nil, err
	}
	if content == nil {
		content = []byte{} // an empty file, not a missing one
	}
	var old []byte
	if s.exists() {
		old = append([]byte{}, s.data...)
	}
	c := newChange(p.Shown, "", old, content, maxDiffBytes)
	c.record(s)
	return detail(c), nil
}

// decode reads arguments that are valid by the tool's schema.
func decode[T any](call tool.Call) (T, error) {
	var in T
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return in, fmt.Errorf("cannot read the arguments of %q: %w", call.Name, err)
	}
	return in, nil
}

func (w *Workspace) previewPatch(ctx context.Context, call tool.Call) (json.RawMessage, error) {
	in, err := decode[PatchArguments](call)
	if err != nil {
		return nil, err
	}
	ops, err := parsePatch(in.Input)
	if err != nil {
		return nil, err
	}
	p := &plan{w: w, call: call, files: map[string]*planned{}}
	defer p.close()
	for _, op := range ops {
		if f, err := p.file(ctx, op.path); err == nil && f.exists() {
			w.learn(f.place, sha256.Sum256(f.data))
		}
		if err := p.apply(ctx, op); err != nil {
			return nil, err
		}
	}
	return p.result(p.inOrder()).Detail, nil
}

// PatchChanges returns a patch's changes of each file, without diffs. It fails on a patch
// that apply_patch refuses as a whole.
func PatchChanges(patch string) ([]Change, error) {
	ops, err := parsePatch(patch)
	if err != nil {
		return nil, err
	}
	changes := make([]Change, len(ops))
	for i, op := range ops {
		changes[i] = op.change()
	}
	return changes, nil
}

// PatchPaths returns the paths of a patch, including targets of moves.
func PatchPaths(patch string) ([]string, error) {
	changes, err := PatchChanges(patch)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, c := range changes {
		if c.From != "" {
			paths = append(paths, c.From)
		}
		paths = append(paths, c.Path)
	}
	return paths, nil
}

func (op patchOp) change() Change {
	c := Change{Path: op.path}
	switch {
	case op.kind == opAdd:
		c.Kind = Create
	case op.kind == opDelete:
		c.Kind = Delete
	case op.moveTo != "":
		c.Kind, c.Path, c.From = Move, op.moveTo, op.path
	default:
		c.Kind = Update
	}
	return c
}
