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

// Scope is the part of a session that a digest covers.
type Scope struct {
	// From is the start of the history that stays unchanged; the digest does not repeat it. Nil:
	// only the inputs of the running turn stay.
	From *event.Place
	// Omit are the inputs that the provider refused, and First is the first turn that the digest
	// may mention: the provider refused earlier ones.
	Omit  map[string]bool
	First int
}

// Digest has the facts of a session that a compaction keeps.
type Digest struct {
	Session  string
	Inputs   []Input
	Waiting  []Input
	Files    []File // by their last use
	Commands []Command
	Jobs     []*event.Job
	Children []*event.Child
	// Plan is the model's last plan, if it has open steps.
	Plan      []plan.Step
	Approvals []Approval
	// Loaded are the skills and the instructions of folders before From, by their last use.
	Loaded []LoadedText
}

// LoadedText is a skill or an instruction that the model needs for the rest of the session.
type LoadedText struct {
	Skill string // name of the skill; empty for instructions
	Path  string
	Text  string
}

// Input is a message of a user.
type Input struct {
	ID, Text string
	// Images counts the attached images. Documents has the attached PDFs.
	Images    int
	Documents []event.Document
	Omitted   bool   // the provider refused it
	Ended     string // how its turn ended, unless it completed
	Held      bool
}

// File is a file that calls have read or written.
type File struct {
	Path          string
	Read, Written bool
	Deleted       bool
	SHA256        string // at the last use; empty if unknown
	// Now is the current state, which Check sets.
	Now State
}

// State compares a file with its last use.
type State string

// The states of a file.
const (
	Unknown   State = ""
	Unchanged State = "unchanged since"
	Changed   State = "changed since by another program"
	Missing   State = "gone"
)

// Command is a command that ran.
type Command struct {
	Text string
	Exit *int
	How  string // its end, unless it exited
}

// Approval is an approval for the rest of the session.
type Approval struct{ Tool, Covers string }

// Read derives the digest from the state. Both share their texts.
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

// inputs adds the inputs of a turn before From.
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
	in := Input{
		ID: i.ID, Text: i.Text, Images: len(i.Images), Documents: i.Documents,
		Held: i.Held, Omitted: scope.Omit[i.ID], Ended: ended,
	}
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

// command adds a call that ran a command, by its arguments.
func (l *Digest) command(i *event.Item) {
	c := i.Content()
	var args struct {
		Command string `json:"command"`
	}
	if ran := c.RanWith(); !strings.Contains(ran, `"command"`) || json.Unmarshal([]byte(ran), &args) != nil ||
		args.Command == "" {
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

// plan keeps the plan of the call.
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

// filesOf returns the files in a call's detail.
func filesOf(i *event.Item) []File {
	var detail struct {
		Read  *struct{ Path, SHA256 string } `json:"read"`
		Files []struct {
			Path, From, Kind string
			SHA256           string
		} `json:"files"`
	}
	if i.Status != event.ItemCompleted || !aboutFiles(i.Content().Detail) ||
		json.Unmarshal(i.Content().Detail, &detail) != nil {
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

// aboutFiles is a fast check: most calls of a long session concern no files.
func aboutFiles(detail json.RawMessage) bool {
	return bytes.Contains(detail, []byte(`"read"`)) || bytes.Contains(detail, []byte(`"files"`))
}

// recordFile merges a use of a file with the earlier ones.
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
