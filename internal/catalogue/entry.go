package catalogue

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

const (
	maxTitle = 200      // bytes
	maxWords = 16 << 10 // searchable bytes of a session's inputs
)

// Entry describes a session.
type Entry struct {
	Session string
	Dir     string // working directory; for a session in its own git worktree, the one it was made for
	Title   string // first line of the inputs that describes a task
	Model   string // of the last turn, as "provider/name"
	// Outcome is the outcome of the last turn, and Reason its reason if it was aborted;
	// both are empty while the turn runs, and in a session without turns.
	Outcome          event.Outcome
	Reason           event.Reason
	Running          bool   // a turn has not ended, and a process holds the session
	Asks             bool   // that turn waits for a person's answer
	Held             int    // calls that wait for a person's verdict, since their host ended
	Parent           string // session of the parent, for a child agent
	Trivial          bool   // no turn did anything: each failed, or no input was more than a greeting
	Created, Updated time.Time
	Seq              uint64 // sequence number of the last event
	// Problem is the error that prevents reading the log, or a part of it.
	Problem string
}

// IsEmpty reports whether the session has received no input, such as a copy of the time before the
// first one.
func (e Entry) IsEmpty() bool {
	return e.Title == "" && e.Outcome == "" && !e.Running && e.Problem == ""
}

// row is an Entry with the columns that only the database needs.
type row struct {
	Entry
	size, modified int64  // of the log: bytes, nanoseconds since 1970
	words          string // searchable text, in lower case
	// requests are the requests of a log that was just read; nil for a row of the database.
	requests []Request
}

// EntryOf returns the entry of a session in the state.
func EntryOf(state event.State) Entry {
	e := Entry{
		Session: state.Session,
		Dir:     state.Host.Dir,
		Title:   Title(state),
		Parent:  state.Host.Parent,
		Created: state.Created,
		Updated: state.Updated,
		Running: state.Running() != nil,
		Trivial: isTrivial(state),
		Seq:     state.Seq,
	}
	if w := state.Host.Worktree; w != nil && w.From != "" {
		e.Dir = w.From
	}
	if !e.Running {
		e.Held = len(state.HeldCalls())
		e.Trivial = e.Trivial && e.Held == 0
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

// describe returns the row of a session in the state.
func describe(state event.State) row {
	var texts []string
	for _, turn := range state.Turns {
		texts = appendTexts(texts, turn.Inputs)
		for _, a := range turn.Attempts {
			texts = appendTexts(texts, a.Inputs)
		}
	}
	texts = appendTexts(texts, state.Waiting)
	entry := EntryOf(state)
	if entry.Running { // alive decides whether they count
		entry.Held = len(Crashed(state).HeldCalls())
	}
	return row{
		Entry: entry, words: truncate(strings.ToLower(strings.Join(texts, "\n")), maxWords),
		requests: requestsOf(state),
	}
}

// Crashed returns the state after ending everything that the host left open, as the next host
// records it if the host died.
func Crashed(state event.State) event.State {
	for _, e := range event.Closings(state, event.Abort(event.Crashed, "host")) {
		e.Session, e.Seq, e.At = state.Session, state.Seq+1, state.Updated
		next, err := event.Fold(state, e)
		if err != nil {
			return state
		}
		state = next
	}
	return state
}

// pictures is the title of a session whose inputs are pictures only.
const pictures = "(pictures)"

// Title returns the title of a session: the first line of its inputs that is a task, else
// the first line. A command that a person entered is no task, and settle's own inputs do not count.
func Title(state event.State) string {
	var inputs []event.Input
	for _, t := range state.Turns {
		inputs = append(inputs, t.Inputs...)
	}
	first, image := "", ""
	for _, in := range append(inputs, state.Waiting...) {
		if in.By == event.Resumer {
			continue
		}
		for line := range strings.Lines(in.Text) {
			switch line = strings.TrimSpace(line); {
			case isTask(line) && !in.Command && in.HeldCall == nil:
				return truncate(line, maxTitle)
			case first == "":
				first = truncate(line, maxTitle)
			}
		}
		if len(in.Images) > 0 {
			image = pictures
		}
	}
	return cmp.Or(first, image)
}

// smallTalk are the words of inputs that are greetings, or test whether the model answers.
const smallTalk = " ciao evening good hallo hello hey hi hola moin morning ok okay" +
	" ping settle test testing thank thanks there yo you "

// isTask reports whether a line describes a task.
func isTask(line string) bool {
	notWord := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	words := strings.FieldsFunc(strings.ToLower(line), notWord)
	return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(smallTalk, " "+w+" ") })
}

// isTrivial reports whether a session is not worth a row of its own in a list.
func isTrivial(state event.State) bool {
	if state.Running() != nil || len(state.Waiting) > 0 || len(state.Children) > 0 {
		return false
	}
	for _, t := range state.Turns {
		if t.Cause != nil && t.Cause.Outcome == event.Failed {
			continue
		}
		for _, in := range t.Inputs {
			if isTask(in.Text) || len(in.Images) > 0 {
				return false
			}
		}
	}
	return true
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

// read returns the row of a log. An unreadable log also has a row, so that lists
// include it.
func read(dir string, log journal.Entry) row {
	state, err := journal.Load(dir, log.Session)
	r := describe(state)
	r.Session, r.size, r.modified = log.Session, log.Size, log.Updated.UnixNano()
	if err != nil {
		r.Problem = err.Error()
	}
	if missing := (*journal.MissingError)(nil); errors.As(err, &missing) {
		r.Problem = "the log was deleted while it was read"
	}
	if r.Updated.IsZero() {
		r.Created, r.Updated = log.Updated, log.Updated
	}
	return r
}

// alive returns the entry with its present Running: a turn that has not ended runs only
// if a process holds the session's lock. Otherwise its host died, and the next host that
// opens the session records that.
func (e Entry) alive(dir string) Entry {
	if !e.Running {
		return e
	}
	if free, err := journal.Free(dir, e.Session); free && err == nil {
		e.Running, e.Outcome, e.Reason = false, event.Aborted, event.Crashed
		return e
	}
	e.Held, e.Asks = 0, e.Held > 0 // the questions of a turn that runs are open
	return e
}

// matches reports whether the query selects the row.
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
