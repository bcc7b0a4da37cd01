package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"
)

// Editor is a program with open files of the session's directory, which can have unsaved
// text. The file tools read their text from it and write new text to it. If its error is
// [fs.ErrNotExist], the tools use the disk, as for all other files. A path that leads out
// of the directory by a link never belongs to the editor.
//
// The Editor itself writes its files: this package's guarantees about atomic writes and
// file modes do not apply to them.
type Editor struct {
	Read  func(ctx context.Context, path string) (text string, err error)
	Write func(ctx context.Context, path, text string) error
}

// covers reports whether the editor can have a file.
func (w *Workspace) covers(p place) bool { return w.editor != nil && p.buffer != "" }

// edited returns the editor's text of a file, if the editor has the file.
func (w *Workspace) edited(ctx context.Context, p place) (text string, has bool, err error) {
	if !w.covers(p) {
		return "", false, nil
	}
	text, err = w.editor.Read(ctx, p.buffer)
	switch {
	case ctx.Err() != nil:
		return "", false, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("the editor did not give the text of %q: %w", p.Shown, err)
	}
	return text, true, nil
}

// load reads the file at p, from the editor or from the disk. The file need not exist.
func (w *Workspace) load(ctx context.Context, p place) (*snapshot, error) {
	s, err := load(ctx, p)
	if err == nil {
		s.keep = w.keep
	}
	if err != nil || !w.covers(p) || !textual(s.data) {
		return s, err
	}
	if s.exists() {
		text, has, err := w.edited(ctx, p)
		if err != nil {
			return nil, err
		}
		if !has {
			return s, nil
		}
		if len(text) > maxEditBytes {
			return nil, fmt.Errorf("%q has more than the %s that this tool can change in the editor", p.Shown,
				byteCount(maxEditBytes))
		}
		s.data = []byte(text)
	}
	s.put = func(content []byte) error {
		if err := w.editor.Write(ctx, p.buffer, string(content)); err != nil {
			return fmt.Errorf("the editor did not write %q: %w", p.Shown, err)
		}
		return nil
	}
	return s, nil
}

// textual reports whether an editor could contain the content.
func textual(content []byte) bool {
	return utf8.Valid(content) && bytes.IndexByte(content, 0) < 0
}
