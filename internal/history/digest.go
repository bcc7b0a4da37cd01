package history

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool/plan"
)

// Scope is what of a session a ledger is about.
type Scope struct {
	// From is from where on the history stays as it is: what was said there is
	// not said again. Nil: nothing stays but the inputs of the turn that runs.
	From *event.Place
	// Omit are inputs that must not be said again, and First is the first turn
	// that may be spoken of: the provider refused what is before.
	Omit  map[string]bool
	First int
}

// Ledger is what a session has come to.
type Digest struct {
	Session  string
	Inputs   []Input
	Waiting  []Input
	Files    []File // by when they were last touched
	Commands []Command
	Jobs     []*event.Job
	Children []*event.Child
	// Plan is the last that the model made, if there is something left of it.
	Plan      []plan.Step
	Approvals []Approval
	// Loaded are the skills that were loaded before what stays as it is, and the
	// instructions of folders that were given before, by when they were last.
	Loaded []LoadedText
}

// Loaded is a text for the model that it needs for as long as it works.
type LoadedText struct {
	Skill string // its name; empty for instructions
	Path  string
	Text  string
}

// Input is what somebody said.
type Input struct {
	ID, Text string
	Images   int
	Omitted  bool   // the provider refused it
	Ended    string // how its turn ended, if it did not complete
	Held     bool
}

// File is a file that calls read or wrote.
type File struct {
	Path          string
	Read, Written bool
	Deleted       bool
	SHA256        string // when it was last touched; empty if not known
	// Now is what it is: set by Check.
	Now State
}

// State is what became of a file.
type State string

// The states of a file.
const (
	Unknown   State = ""
	Unchanged State = "unchanged since"
	Changed   State = "changed since by another program"
	Gone      State = "gone"
)

// Command is a command that ran.
type Command struct {
	Text string
	Exit *int
	How  string // if it did not run to its end
}

// Approval is what was approved for the rest of the session.
type Approval struct{ Tool, Covers string }

// Read takes the facts from the state. What it returns shares the texts with it.
func Read(s event.State, scope Scope) Digest {
	l := Digest{Session: s.Session}
	files := map[string]*File{}
	var order []string
	var planned *event.Item
	loaded := loadedTexts{at: map[string]int{}}
	running := s.Running()
	last := len(s.Turns)
	if scope.From != nil {
		last = slices.IndexFunc(s.Turns, func(t *event.Turn) bool { return t.ID == scope.From.Turn })
	}
	for n, t := range s.Turns {
		if n >= scope.First && n <= last && t != running {
			l.inputs(t, scope)
		}
		for _, i := range t.Items {
			if n >= scope.First && (n < last || n == last && i.Attempts < scope.From.Attempts) {
				loaded.take(i)
			}
			if i.Type() == event.ToolCall && i.Started && i.Status != event.ItemOpen {
				l.command(i)
				if i.Status == event.ItemCompleted && i.Content().Name == plan.Name {
					planned = i
				}
				for _, f := range filesOf(i) {
					order = recordFile(files, order, f)
				}
			}
		}
		if t.StartSeq > s.HostSeq {
			l.approvals(t)
		}
	}
	if planned != nil {
		l.plan(planned)
	}
	l.Loaded = loaded.list()
	for _, p := range order {
		l.Files = append(l.Files, *files[p])
	}
	for _, j := range s.Jobs {
		if j.Ended == nil {
			job := *j
			l.Jobs = append(l.Jobs, &job)
		}
	}
	for _, c := range s.Children {
		child := *c
		l.Children = append(l.Children, &child)
	}
	for _, i := range s.Waiting {
		if !i.Kept() {
			l.Waiting = append(l.Waiting, inputOf(i, scope, ""))
		}
	}
	return l
}

// inputs takes those of a turn that do not stay as they are.
func (l *Digest) inputs(t *event.Turn, scope Scope) {
	before := func(attempts int) bool {
		return scope.From == nil || scope.From.Turn != t.ID || attempts < scope.From.Attempts
	}
	add := func(list []event.Input, attempts int) {
		for _, i := range list {
			if before(attempts) && !i.Kept() {
				l.Inputs = append(l.Inputs, inputOf(i, scope, endingOf(t.Cause)))
			}
		}
	}
	add(t.Inputs, 0)
	for n, a := range t.Attempts {
		add(a.Inputs, n)
	}
}

func inputOf(i event.Input, scope Scope, ended string) Input {
	in := Input{ID: i.ID, Text: i.Text, Images: len(i.Images), Held: i.Held, Omitted: scope.Omit[i.ID], Ended: ended}
	if i.Command {
		in.Text = "! " + in.Text
	}
	return in
}

func endingOf(c *event.Cause) string {
	if c == nil || c.Outcome == event.Completed {
		return ""
	}
	if c.Outcome == event.Aborted {
		return string(c.Reason)
	}
	return string(c.Outcome)
}

// command takes a call that says so, by its exit code or by what it was given.
func (l *Digest) command(i *event.Item) {
	c := i.Content()
	var args struct {
		Command string `json:"command"`
	}
	if ran := c.RanWith(); !strings.Contains(ran, `"command"`) || json.Unmarshal([]byte(ran), &args) != nil || args.Command == "" {
		return
	}
	command := Command{Text: args.Command, Exit: c.ExitCode}
	switch {
	case i.Status == event.ItemAborted:
		command.How = "aborted"
		if i.Cause != nil && i.Cause.Reason != "" {
			command.How = string(i.Cause.Reason)
		}
	case c.ExitCode == nil && i.Status == event.ItemFailed:
		command.How = "failed"
	}
	l.Commands = append(l.Commands, command)
}

// plan takes what the call made.
func (l *Digest) plan(i *event.Item) {
	var args plan.Arguments
	if json.Unmarshal([]byte(i.Content().RanWith()), &args) != nil {
		return
	}
	l.Plan = args.Plan
	if !slices.ContainsFunc(l.Plan, func(s plan.Step) bool { return s.Status != plan.Completed }) {
		l.Plan = nil
	}
}

// touched returns what the call's detail says of files.
func filesOf(i *event.Item) []File {
	var detail struct {
		Read  *struct{ Path, SHA256 string } `json:"read"`
		Files []struct {
			Path, From, Kind string
			SHA256           string
		} `json:"files"`
	}
	if i.Status != event.ItemCompleted || !aboutFiles(i.Content().Detail) || json.Unmarshal(i.Content().Detail, &detail) != nil {
		return nil
	}
	var out []File
	if r := detail.Read; r != nil && r.Path != "" {
		out = append(out, File{Path: path.Clean(r.Path), Read: true, SHA256: r.SHA256})
	}
	for _, f := range detail.Files {
		if f.Path == "" {
			continue
		}
		if f.From != "" {
			out = append(out, File{Path: path.Clean(f.From), Written: true, Deleted: true})
		}
		out = append(out, File{Path: path.Clean(f.Path), Written: true, Deleted: f.Kind == "delete", SHA256: f.SHA256})
	}
	return out
}

// aboutFiles is quick: a long session has many calls that are about something else.
func aboutFiles(detail json.RawMessage) bool {
	return bytes.Contains(detail, []byte(`"read"`)) || bytes.Contains(detail, []byte(`"files"`))
}

// note adds a touch to what is known of the file, which is the latest now.
func recordFile(files map[string]*File, order []string, f File) []string {
	if known := files[f.Path]; known != nil {
		f.Read, f.Written = f.Read || known.Read, f.Written || known.Written
		if f.SHA256 == "" && !f.Deleted {
			f.SHA256 = known.SHA256
		}
		order = slices.DeleteFunc(order, func(p string) bool { return p == f.Path })
	}
	files[f.Path] = &f
	return append(order, f.Path)
}

func (l *Digest) approvals(t *event.Turn) {
	for _, a := range t.Approvals {
		if a.Ended != nil && a.Ended.Verdict == event.ApprovedSession {
			approval := Approval{a.Tool, a.Covers}
			if !slices.Contains(l.Approvals, approval) {
				l.Approvals = append(l.Approvals, approval)
			}
		}
	}
}
