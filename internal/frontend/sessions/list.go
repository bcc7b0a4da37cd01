package sessions

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agents"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/terminal"
)

// List writes a table of the sessions that the query asks for.
func List(ctx context.Context, to io.Writer, dataDir string, q catalogue.Query) error {
	q.Children = true
	list, err := store.Titled(ctx, dataDir, q)
	if err != nil {
		return err
	}
	if width := terminal.Columns(to); width > 0 {
		return narrow(to, dataDir, tree(list), width)
	}
	var rows [][]string
	for _, b := range tree(list) {
		e := b.Entry
		rows = append(rows, []string{
			e.Session, e.Updated.Local().Format(time.DateTime), stateIn(dataDir, e),
			terminal.Short(e.Model, maxCell), b.mark() + terminal.Short(e.Title, maxCell) +
				ownWorktree(dataDir, e),
		})
	}
	return listing.Table(to, rows)
}

const (
	// maxModel, maxDir and minTitle are columns of the table for a terminal.
	maxModel, maxDir, minTitle = 16, 20, 20
	// shortTime is the time of a change.
	shortTime = "2006-01-02 15:04"
)

// narrow writes the table for a terminal, a row for each session: with as much of the id as
// is enough, and the directory if there are several. Where the title has no room, the model
// is left out.
func narrow(to io.Writer, dataDir string, list []branch, width int) error {
	ids, err := store.Beginnings(dataDir)
	if err != nil {
		return err
	}
	several := slices.ContainsFunc(list, func(b branch) bool { return b.Dir != list[0].Dir })
	rows := make([][]string, len(list))
	for n, b := range list {
		rows[n] = []string{
			cmp.Or(ids[b.Session], b.Session), b.Updated.Local().Format(shortTime),
			stateIn(dataDir, b.Entry), terminal.Short(b.Model, maxModel),
		}
		if several {
			rows[n] = append(rows[n], terminal.Short(filepath.Base(b.Dir), maxDir))
		}
	}
	if width-listing.Width(rows) < minTitle {
		for n, row := range rows {
			rows[n] = slices.Delete(row, 3, 4)
		}
	}
	room := max(width-listing.Width(rows), minTitle)
	for n, b := range list {
		title := terminal.Plain(b.mark()+terminal.OneLine(b.Title)+ownWorktree(dataDir, b.Entry), terminal.Style{})
		rows[n] = append(rows[n], terminal.Clip(title, room).Text())
	}
	return listing.Table(to, rows)
}

// ownWorktree names the git worktree of a session or a child agent, if it has one.
func ownWorktree(dataDir string, e catalogue.Entry) string {
	own := filepath.Join(agents.WorktreeDir(dataDir), e.Session)
	if _, err := os.Lstat(own); err == nil && e.Parent == "" {
		return " (git worktree " + terminal.Text(own) + ")"
	}
	if e.Parent == "" || !strings.HasPrefix(e.Dir, agents.WorktreeDir(dataDir)+string(filepath.Separator)) {
		return ""
	}
	if _, err := os.Lstat(e.Dir); err != nil {
		return " (git worktree, removed)"
	}
	return " (git worktree " + terminal.Text(e.Dir) + ")"
}

// branch is a session in the tree of child agents.
type branch struct {
	catalogue.Entry
	depth int
}

// mark stands before the title of a child agent.
func (b branch) mark() string {
	switch {
	case b.depth > 0:
		return strings.Repeat("  ", b.depth-1) + "└ "
	case b.Parent != "": // which is not listed
		return "└ "
	}
	return ""
}

// tree returns the sessions with each child agent after its parent. The children of a parent are in
// the order of their start.
func tree(list []catalogue.Entry) []branch {
	listed := map[string]bool{}
	below := map[string][]catalogue.Entry{}
	for _, e := range list {
		listed[e.Session] = true
	}
	for _, e := range slices.Backward(list) {
		if e.Parent != e.Session && listed[e.Parent] {
			below[e.Parent] = append(below[e.Parent], e)
		}
	}
	var out []branch
	var add func(e catalogue.Entry, depth int)
	add = func(e catalogue.Entry, depth int) {
		out = append(out, branch{e, depth})
		children := below[e.Session]
		delete(below, e.Session) // a log may say anything
		slices.SortStableFunc(children, func(a, b catalogue.Entry) int { return a.Created.Compare(b.Created) })
		for _, c := range children {
			add(c, depth+1)
		}
	}
	for _, e := range list {
		if e.Parent == e.Session || !listed[e.Parent] {
			add(e, 0)
		}
	}
	return out
}

// maxCell is the number of characters of a model and of a title that the table shows.
const maxCell = 60

// stateIn is the state of a session, whether a client has archived it, and the process that has it open.
func stateIn(dataDir string, e catalogue.Entry) string {
	words := state(e)
	if store.IsArchived(dataDir, e.Session) {
		words += ", archived"
	}
	return words + where(dataDir, e.Session)
}

// state describes a session's state in a word, and states how many of its calls are held.
func state(e catalogue.Entry) string {
	words := ending(e)
	if e.Held > 0 {
		words += ", " + terminal.Count(e.Held, "held call")
	}
	return words
}

func ending(e catalogue.Entry) string {
	switch {
	case e.Problem != "":
		return "damaged"
	case e.Asks:
		return "running, asks"
	case e.Running:
		return "running"
	case e.Outcome == "":
		return "empty"
	}
	return event.EndingWords(e.Outcome, e.Reason)
}

// where names the process that has a session open.
func where(dataDir, session string) string {
	if host, known := attach.HostOf(dataDir, session); known {
		return ", open in " + host.String()
	}
	return ""
}

// line is a session as JSON.
type line struct {
	Session string        `json:"session"`
	Dir     string        `json:"dir"`
	Title   string        `json:"title,omitempty"`
	Model   string        `json:"model,omitempty"`
	Outcome event.Outcome `json:"outcome,omitempty"`
	Reason  event.Reason  `json:"reason,omitempty"`
	Running bool          `json:"running,omitempty"`
	Asks    bool          `json:"asks,omitempty"`
	Held    int           `json:"held_calls,omitempty"`
	Created time.Time     `json:"created"`
	Updated time.Time     `json:"updated"`
	Problem string        `json:"problem,omitempty"`
	Parent  string        `json:"parent,omitempty"`
	// Archived reports that a client of the app-server has put the session away.
	Archived bool         `json:"archived,omitempty"`
	Host     *attach.Host `json:"host,omitempty"`
}

// ListJSON writes the sessions as JSON, one a line.
func ListJSON(ctx context.Context, to io.Writer, dataDir string, q catalogue.Query) error {
	q.Children = true
	list, err := store.Titled(ctx, dataDir, q)
	if err != nil {
		return err
	}
	lines := make([]line, len(list))
	for n, e := range list {
		lines[n] = line{
			e.Session, e.Dir, e.Title, e.Model, e.Outcome, e.Reason, e.Running, e.Asks, e.Held, e.Created.UTC(),
			e.Updated.UTC(), e.Problem, e.Parent, store.IsArchived(dataDir, e.Session), nil,
		}
		if host, known := attach.HostOf(dataDir, e.Session); known {
			lines[n].Host = &host
		}
	}
	return listing.JSON(to, lines)
}
