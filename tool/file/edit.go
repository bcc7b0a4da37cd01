package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/settle-agent/settle/tool"
)

var editSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1},
		"old_string": {"type": "string", "minLength": 1, "description": "Text to replace, as it is in the file, without line numbers."},
		"new_string": {"type": "string"},
		"replace_all": {"type": "boolean"}
	},
	"required": ["path", "old_string", "new_string"],
	"additionalProperties": false
}`)
})

// editTool returns the tool edit.
func (w *Workspace) editTool() tool.Tool {
	return tool.Must(tool.New("edit",
		"Replaces a text in a file. The text must match exactly, including white space, and occur once: "+
			"include surrounding lines to make it unique, or set replace_all. Keeps the file's line endings. "+
			"If nothing matches, the error shows the nearest lines.",
		w.callEdit, editSchema(), tool.WithTitle(func(in EditArguments) string { return "edit " + in.Path })))
}

func (w *Workspace) callEdit(ctx context.Context, in EditArguments) (tool.Result, error) {
	call, _ := tool.CallFrom(ctx)
	p, err := w.locate(call, in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	if err := w.checkMask(in.Path, in.New); err != nil {
		return tool.Result{}, err
	}
	result, edited, err := w.edit(ctx, call, p, in)
	if err != nil {
		return tool.Result{}, err
	}
	return w.checked(ctx, result, edited), nil
}

// edit locks and changes the file at p.
func (w *Workspace) edit(ctx context.Context, call tool.Call, p place, in EditArguments) (tool.Result, Edited, error) {
	release, err := w.locks.acquire(ctx, p.key)
	if err != nil {
		return tool.Result{}, Edited{}, err
	}
	defer release()
	s, err := w.load(ctx, p)
	if err != nil {
		return tool.Result{}, Edited{}, err
	}
	defer s.close()
	if !s.exists() {
		return tool.Result{}, Edited{},
			fmt.Errorf("there is no file %q%s; to create it use write", p.Shown, suggest(p.Place))
	}
	content, n, err := substitute(ctx, s, in)
	if err != nil {
		return tool.Result{}, Edited{}, err
	}
	c := newChange(p.Shown, "", s.data, content, maxDiffBytes)
	c.record(s)
	w.intends(call, c)
	edited := s.edited(content)
	if err := replace(ctx, s, content); err != nil {
		return tool.Result{}, Edited{}, err
	}
	w.learnChange(p, s.data, content)
	places := "1 place"
	if n > 1 {
		places = fmt.Sprintf("%d places", n)
	}
	output := fmt.Sprintf("edited %s in %s (%s)", p.Shown, places, c.counts())
	return tool.Result{Output: output, Detail: detail(c)}, edited, nil
}

// substitute returns the content with the replacements, and their number. It changes no
// byte outside them.
func substitute(ctx context.Context, s *snapshot, in EditArguments) ([]byte, int, error) {
	if in.Old == in.New {
		return nil, 0, errors.New("old_string and new_string are equal; nothing to change")
	}
	if isNotebook(s.Real) {
		if out, n, err := substituteCells(s, in); n > 0 || err != nil {
			return out, n, err
		}
	}
	found, err := choose(ctx, s, in)
	if err != nil {
		return nil, 0, err
	}
	ending := lineEnding(s.data)
	out := make([]byte, 0, len(s.data)+len(in.New))
	at := 0
	for _, m := range found {
		out = append(out, s.data[at:m.from]...)
		out = append(out, replacement(s.data[m.from:m.to], in.New, ending)...)
		if at = m.to; len(out) > maxEditBytes {
			return nil, 0, fmt.Errorf("%q would grow beyond the %s that this tool writes; nothing was changed",
				s.Shown, byteCount(maxEditBytes))
		}
	}
	out = append(out, s.data[at:]...)
	if bytes.Equal(out, s.data) {
		return nil, 0, errors.New(
			"old_string and new_string differ only in line endings, which edit keeps as the file has them; nothing was changed",
		)
	}
	if isNotebook(s.Real) && isJSON(s.data) && !isJSON(out) {
		return nil, 0, fmt.Errorf("%q would not be JSON any longer; nothing was changed. "+
			"Give a cell's text as read shows it, or the file's text with quotes and \\n", s.Shown)
	}
	return out, len(found), nil
}

// isJSON reports whether a file is JSON, with or without a byte order mark.
func isJSON(data []byte) bool { return json.Valid(bytes.TrimPrefix(data, []byte(utf8BOM))) }

// replacement gives text the line endings of the replaced text, or else of the file.
func replacement(old []byte, text, fileEnding string) string {
	if own := lineEnding(old); own != "" {
		return withEnding(text, own)
	}
	return withEnding(text, fileEnding)
}

// choose returns the spans to replace, in order and without overlaps.
func choose(ctx context.Context, s *snapshot, in EditArguments) ([]span, error) {
	var found []span
	var starts []int
	total := 0
	for m := range matches(ctx, s.data, in.Old) {
		if total++; total > maxMatches {
			return nil, fmt.Errorf(
				"old_string occurs more than %d times in %q; nothing was changed. Take in more text around the place you mean",
				maxMatches,
				s.Shown,
			)
		}
		if len(starts) < maxListed {
			starts = append(starts, lineNumber(s.data, m.from))
		}
		if n := len(found); n == 0 || in.All && m.from >= found[n-1].to {
			found = append(found, m)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if total == 0 {
		text := strings.Split(strings.ReplaceAll(in.Old, "\r\n", "\n"), "\n")
		return nil, errors.New(explainMissing("old_string", s.Shown, splitLines(string(s.data)), text) +
			"\nNothing was changed.")
	}
	if total > 1 && !in.All {
		return nil, fmt.Errorf("old_string occurs %d times in %q, beginning on lines %s; nothing was changed. "+
			"Take in more lines around the one you mean, or set replace_all", total, s.Shown, listed(starts, total))
	}
	return found, nil
}

// maxMatches bounds the matches that are held in memory.
const maxMatches = 100_000

// maxListed bounds the line numbers in an error.
const maxListed = 20

func listed(lines []int, total int) string {
	s := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(lines)), ", "), "[]")
	if total > len(lines) {
		s += ", …"
	}
	return s
}
