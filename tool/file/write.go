package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/settle-agent/settle/tool"
)

var writeSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1, "description": "File to write; missing directories are created."},
		"content": {"type": "string"}
	},
	"required": ["path", "content"],
	"additionalProperties": false
}`)
})

// writeTool returns the tool write.
func (w *Workspace) writeTool() tool.Tool {
	return tool.Must(tool.New("write",
		"Writes a whole file and creates it if necessary. Read an existing file first; it is replaced only "+
			"if it has not changed since. For small changes use edit. Keeps the line endings and the mode of an existing file.",
		w.callWrite, writeSchema(), tool.WithTitle(func(in WriteArguments) string { return "write " + in.Path })))
}

func (w *Workspace) callWrite(ctx context.Context, in WriteArguments) (tool.Result, error) {
	call, _ := tool.CallFrom(ctx)
	if strings.HasSuffix(in.Path, "/") || strings.HasSuffix(in.Path, string(filepath.Separator)) {
		return tool.Result{}, fmt.Errorf("%q ends in a slash: it names a directory, not a file", in.Path)
	}
	p, err := w.locate(call, in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	if err := w.checkMask(in.Path, in.Content); err != nil {
		return tool.Result{}, err
	}
	result, edited, err := w.write(ctx, call, p, in.Content)
	if err != nil {
		return tool.Result{}, err
	}
	return w.checked(ctx, result, edited...), nil
}

// write locks and replaces the file at p.
func (w *Workspace) write(
	ctx context.Context, call tool.Call, p place, text string,
) (r tool.Result, edited []Edited, err error) {
	release, err := w.locks.acquire(ctx, p.key)
	if err != nil {
		return tool.Result{}, nil, err
	}
	defer release()
	s, err := w.load(ctx, p)
	if err != nil {
		return tool.Result{}, nil, err
	}
	defer s.close()
	content, kept := keepForm(s.data, text)
	if s.exists() && (bytes.Equal(s.data, content) || string(s.data) == text) {
		w.learn(p, sha256.Sum256(s.data))
		return tool.Result{Output: fmt.Sprintf("unchanged: %s has this content already", p.Shown)}, nil, nil
	}
	if err := w.mayReplace(s); err != nil {
		return tool.Result{}, nil, err
	}
	c := newChange(p.Shown, "", s.data, content, maxDiffBytes)
	c.record(s)
	w.intends(call, c)
	edited = []Edited{s.edited(content)}
	if err := replace(ctx, s, content); err != nil {
		return tool.Result{}, nil, err
	}
	w.learn(p, sha256.Sum256(content))
	verb := "replaced"
	if !s.exists() {
		verb = "created"
	}
	return tool.Result{
		Output: fmt.Sprintf("%s %s (%s, %s)%s", verb, p.Shown, byteCount(int64(len(content))), c.counts(), kept),
		Detail: detail(c),
	}, edited, nil
}

// mayReplace refuses to overwrite content that the model has not seen: another author's
// work would be lost without a decision.
func (w *Workspace) mayReplace(s *snapshot) error {
	if !s.exists() || len(s.data) == 0 {
		return nil
	}
	known := w.knows(s.place, s.data)
	switch {
	case known == unread && isNotebook(s.Real):
		return fmt.Errorf("refused: %q exists (%s), and read shows a notebook's cells only; nothing was written. "+
			"Change it with edit, which works on the text of the file", s.Shown, byteCount(int64(len(s.data))))
	case known == unread:
		return fmt.Errorf("refused: %q exists (%s) and has not been read in this session; nothing was written. "+
			"Read it first, or change it with edit", s.Shown, byteCount(int64(len(s.data))))
	case known == stale:
		return fmt.Errorf("refused: %q has changed since it was last read; nothing was written. "+
			"Read it again and decide what of the other change is to stay", s.Shown)
	}
	return nil
}

// keepForm keeps the parts of the old content's form that a model does not see: CRLF line
// endings and a byte order mark. kept describes them.
func keepForm(old []byte, text string) (content []byte, kept string) {
	if lineEnding(old) == "\r\n" && !bytes.Contains(bytes.ReplaceAll(old, []byte("\r\n"), nil), []byte("\n")) {
		if converted := withEnding(text, "\r\n"); converted != text {
			text, kept = converted, "; kept its CRLF line endings"
		}
	}
	if strings.HasPrefix(string(old[:min(len(old), len(utf8BOM))]), utf8BOM) && !strings.HasPrefix(text, utf8BOM) {
		text, kept = utf8BOM+text, kept+"; kept its byte order mark"
	}
	return []byte(text), kept
}
