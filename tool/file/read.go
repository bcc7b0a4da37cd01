package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/proc/pdf"
	"github.com/settle-agent/settle/tool"
)

const (
	maxReadLines  = 2000
	maxReadBytes  = 64 << 10
	maxLineBytes  = 2000
	sniffBytes    = 8000 // as git does to find a NUL
	maxCountBytes = 64 << 20
)

var readSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1},
		"offset": {"type": "integer", "minimum": 1, "description": "Line to begin with; 1 by default."},
		"limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "Default 2000."}
	},
	"required": ["path"],
	"additionalProperties": false
}`)
})

// readTool returns the tool read.
func (w *Workspace) readTool() tool.Tool {
	return tool.Must(tool.New("read",
		"Reads a text file. A line number and a tab precede each line; they are not part of the file. "+
			"At most 2000 lines and 64 KiB per call; the end of the output states how to continue. "+
			"PDFs are shown as text by page. Binary files are described, not shown.",
		w.callRead, readSchema(), tool.ReadOnly(), tool.WithTitle(ReadArguments.title)))
}

func (in ReadArguments) title() string {
	if in.Offset == 0 && in.Limit == 0 {
		return "read " + in.Path
	}
	from := max(int(in.Offset), 1)
	if in.Limit == 0 {
		return fmt.Sprintf("read %s from line %d", in.Path, from)
	}
	return fmt.Sprintf("read %s lines %d-%d", in.Path, from, from+int(in.Limit)-1)
}

func (w *Workspace) callRead(ctx context.Context, in ReadArguments) (tool.Result, error) {
	call, _ := tool.CallFrom(ctx)
	p, err := w.locate(call, in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	release, err := w.locks.acquire(ctx, p.key)
	if err != nil {
		return tool.Result{}, err
	}
	defer release()
	return w.read(ctx, p, in)
}

// read reads from the file at p, whose lock is held.
func (w *Workspace) read(ctx context.Context, p place, in ReadArguments) (tool.Result, error) {
	f, info, err := p.Open()
	if err != nil {
		return tool.Result{}, explainOpen(p, err)
	}
	defer f.Close()
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(contextReader{ctx, f}, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return tool.Result{}, fmt.Errorf("cannot read %q: %w", p.Shown, err)
	}
	about := describeBinary(head[:n], f)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return tool.Result{}, fmt.Errorf("cannot read %q: %w", p.Shown, err)
	}
	switch {
	case about != "" && pdf.IsPDF(head[:n]): // text can have the mark of PDFs as well
		return w.readPages(ctx, p, f, in)
	case about != "":
		return tool.Result{Output: fmt.Sprintf("%s is %s, %s; its content is not shown", p.Shown, about,
			byteCount(info.Size()))}, nil
	}
	content := io.Reader(f)
	if text, has, err := w.edited(ctx, p); err != nil {
		return tool.Result{}, err
	} else if has {
		content = strings.NewReader(text)
	}
	if isNotebook(p.Real) {
		cells, rest, err := readNotebook(contextReader{ctx, content})
		if err != nil {
			return tool.Result{}, fmt.Errorf("cannot read %q: %w", p.Shown, err)
		}
		if cells != nil {
			return w.readCells(p, cells, in)
		}
		content = rest // it is no notebook, or too long for one
	}
	v := newView(int(in.Offset), int(in.Limit))
	if err := v.scan(contextReader{ctx, content}); err != nil {
		return tool.Result{}, fmt.Errorf("cannot read %q: %w", p.Shown, err)
	}
	var sum string
	if v.ended {
		w.learn(p, v.digest())
		sum = hexDigest(v.digest())
	}
	output, err := v.render(p.Shown)
	return tool.Result{Output: output, Detail: reading(p.Shown, sum)}, err
}

// explainOpen suggests an alternative to the model.
func explainOpen(p place, err error) error {
	switch {
	case errors.Is(err, disk.ErrDirectory):
		return fmt.Errorf("%q is a directory; use list to see what is in it", p.Shown)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %q%s", p.Shown, suggest(p.Place))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("cannot read %q: permission denied", p.Shown)
	}
	return fmt.Errorf("cannot read %q: %w", p.Shown, err)
}

// maxSuggestNames bounds the names of a directory that are compared.
const maxSuggestNames = 2000

// suggest returns files beside p with similar names.
func suggest(p disk.Place) string {
	d, err := p.Dir()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "; its directory does not exist either"
		}
		return ""
	}
	defer d.Close()
	entries, _ := d.Read(maxSuggestNames, func() bool { return true })
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	_, base := splitPath(p.Named)
	shownDir, _ := splitPath(p.Shown)
	var near []string
	for _, e := range entries {
		name := e.Name()
		if len(near) < 3 && (strings.EqualFold(name, base) || similarity(name, base) >= 0.5) {
			near = append(near, fmt.Sprintf("%q", shownDir+name))
		}
	}
	if len(near) == 0 {
		return ""
	}
	return "; there is " + strings.Join(near, ", ")
}

func splitPath(path string) (dir, base string) {
	at := strings.LastIndexAny(path, `/`+string(os.PathSeparator))
	return path[:at+1], path[at+1:]
}
