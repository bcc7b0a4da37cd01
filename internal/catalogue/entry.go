package catalogue

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

const (
	maxTitle = 200      // bytes
	maxWords = 16 << 10 // bytes of a session's inputs that can be searched
)

// Entry is what the catalogue says of a session.
type Entry struct {
	Session string
	Dir     string // working directory
	Title   string // first line of the first input
	Model   string // of the last turn, as "provider/name"
	// Outcome is how the last turn ended, Reason why if it was aborted; both
	// are empty while it runs and where there was none.
	Outcome          event.Outcome
	Reason           event.Reason
	Running          bool   // a turn runs: it has not ended, and a process holds the session
	Parent           string // the session that has it as a child agent
	Created, Updated time.Time
	Seq              uint64 // of the last event
	// Problem says why the log cannot be read, or not wholly.
	Problem string
}

// row is an Entry with what only the database needs.
type row struct {
	Entry
	size, modified int64  // of the log that the entry is about: bytes, nanoseconds since 1970
	words          string // what can be searched, in lower case
}

// EntryOf is what the catalogue would say of a session in the state.
func EntryOf(state event.State) Entry {
	e := Entry{
		Session: state.Session, Dir: state.Host.Dir, Title: Title(state),
		Parent: state.Host.Parent, Created: state.Created, Updated: state.Updated, Running: state.Running() != nil, Seq: state.Seq,
	}
	if n := len(state.Turns); n > 0 {
		last := state.Turns[n-1]
		e.Model = strings.Trim(last.Start.Provider+"/"+last.Start.Model, "/")
		if last.Cause != nil {
			e.Outcome, e.Reason = last.Cause.Outcome, last.Cause.Reason
		}
	}
	return e
}

// describe makes a row of a session's state.
func describe(state event.State) row {
	var texts []string
	for _, turn := range state.Turns {
		texts = appendTexts(texts, turn.Inputs)
		for _, a := range turn.Attempts {
			texts = appendTexts(texts, a.Inputs)
		}
	}
	texts = appendTexts(texts, state.Waiting)
	return row{Entry: EntryOf(state), words: truncate(strings.ToLower(strings.Join(texts, "\n")), maxWords)}
}

// pictures is the title of a session in which nothing was said but pictures.
const pictures = "(pictures)"

// Title returns what a session is listed by: the first line that was said in it.
func Title(state event.State) string {
	var said []event.Input
	for _, t := range state.Turns {
		said = append(said, t.Inputs...)
	}
	title := ""
	for _, in := range append(said, state.Waiting...) {
		line, _, _ := strings.Cut(strings.TrimSpace(in.Text), "\n")
		if line = strings.TrimSpace(line); line != "" {
			return truncate(line, maxTitle)
		}
		if len(in.Images) > 0 {
			title = pictures
		}
	}
	return title
}

func appendTexts(texts []string, inputs []event.Input) []string {
	for _, in := range inputs {
		texts = append(texts, in.Text)
	}
	return texts
}

// truncate cuts the text to at most n bytes, between characters.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// read makes a row of a log. A log that cannot be read has one, too, so that
// it is not lost from sight.
func read(dir string, log journal.Entry) row {
	state, err := journal.Load(dir, log.Session)
	r := describe(state)
	r.Session, r.size, r.modified = log.Session, log.Size, log.Updated.UnixNano()
	if err != nil {
		r.Problem = err.Error()
	}
	if missing := (*journal.MissingError)(nil); errors.As(err, &missing) {
		r.Problem = "it was deleted meanwhile"
	}
	if r.Updated.IsZero() {
		r.Created, r.Updated = log.Updated, log.Updated
	}
	return r
}

// alive returns the entry as it is at this moment: a turn that has not ended runs
// only where some process holds the session, which the kernel knows. Else its host
// died, and whoever opens the session next records that.
func (e Entry) alive(dir string) Entry {
	if !e.Running {
		return e
	}
	if free, err := journal.Free(dir, e.Session); free && err == nil {
		e.Running, e.Outcome, e.Reason = false, event.Aborted, event.Crashed
	}
	return e
}

// matches reports whether the query asks for the row.
func (q Query) matches(r row) bool {
	if q.Dir != "" && q.Dir != r.Dir || r.Parent != "" && !q.Children {
		return false
	}
	text := strings.ToLower(q.Text)
	for _, in := range []string{r.words, strings.ToLower(r.Dir), strings.ToLower(r.Session), strings.ToLower(r.Title)} {
		if strings.Contains(in, text) {
			return true
		}
	}
	return false
}
