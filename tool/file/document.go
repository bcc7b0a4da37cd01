package file

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/settle-agent/settle/internal/proc/pdf"
	"github.com/settle-agent/settle/tool"
)

// maxReadPages bounds the pages of one call.
const maxReadPages = 100

// readPages shows the text of a PDF from the offset on, which counts pages. A tool's result is
// text on every wire, so that a model that takes documents receives the text here as well.
func (w *Workspace) readPages(ctx context.Context, p place, r io.Reader, in ReadArguments) (tool.Result, error) {
	data, err := io.ReadAll(io.LimitReader(contextReader{ctx, r}, pdf.MaxBytes+1))
	if err != nil {
		return tool.Result{}, fmt.Errorf("cannot read %q: %w", p.Shown, err)
	}
	from := max(int(in.Offset), 1)
	e, err := pdf.Extract(ctx, data, from, min(cmp.Or(int(in.Limit), maxReadPages), maxReadPages))
	if err != nil {
		return tool.Result{}, fmt.Errorf("cannot read %q: %w", p.Shown, err)
	}
	if e.Pages > 0 && from > e.Pages {
		return tool.Result{}, fmt.Errorf("cannot show page %d of %q: %s", from, p.Shown, e.Problem)
	}
	if len(e.Text) == 0 {
		return tool.Result{Output: fmt.Sprintf("%s is a PDF, %s; its text cannot be read: %s", p.Shown,
			byteCount(int64(len(data))), cmp.Or(e.Problem, "it is empty"))}, nil
	}
	var out strings.Builder
	fmt.Fprintf(&out, "(PDF, %s, shown as text; offset and limit count pages. "+
		"Layout, images and forms are missing)\n", pdf.Pages(e.Pages))
	shown := 0
	for n, page := range e.Text {
		if page == "" {
			page = "(no text: it may be a scanned image)"
		}
		page = fmt.Sprintf("\n--- page %d\n%s\n", e.From+n, page)
		if room := maxReadBytes - out.Len(); len(page) > room {
			if shown > 0 {
				break
			}
			page = cutText(page, room) + "\n"
		}
		out.WriteString(page)
		shown++
	}
	if e.Unreadable > 0 {
		fmt.Fprintf(&out, "\n(the contents of %d of these pages are malformed)\n", e.Unreadable)
	}
	switch last := from + shown - 1; {
	case shown == len(e.Text) && e.Problem != "":
		fmt.Fprintf(&out, "\n(pages %d-%d of %d; no further: %s)\n", from, last, e.Pages, e.Problem)
	case last < e.Pages:
		fmt.Fprintf(&out, "\n(pages %d-%d of %d; read on with offset %d)\n", from, last, e.Pages, last+1)
	}
	return tool.Result{Output: out.String(), Detail: reading(p.Shown, "")}, nil
}
