package question

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
)

// MaxText bounds the text that a person has to read, in bytes.
const MaxText = 64 << 10

// TooLongError means that a call cannot be shown completely, and so cannot be approved by a
// person.
type TooLongError struct{ Why string }

func (e *TooLongError) Error() string {
	return "it is too long to be shown whole to the person who would have to approve it: " + e.Why
}

// Call is a call that needs approval.
type Call struct {
	Tool, Arguments string
	// Dir is the session's working directory.
	Dir string
	// Job is the command of the job that the call names, if any.
	Job string
	// Places are the paths of the call that lead through links.
	Places []event.ResolvedPath
	// Detail has the judge's details: policy.Commands, file.Changes, or nothing.
	Detail json.RawMessage
}

// detail has the fields of a Detail that Text shows.
type detail struct {
	Commands []struct{ Text, Decision, Why string }
	Cut      bool
	Files    []struct {
		Path, From, Kind, Diff string
		Cut                    bool
	}
	Error string
}

// Text returns the complete call for a person to read: every argument, or the change to files,
// and the judge's details.
func Text(c Call) (string, error) {
	var d detail
	_ = json.Unmarshal(c.Detail, &d) // a Detail of another form adds nothing
	if d.Cut {
		return "", &TooLongError{"it does more than can be listed"}
	}
	if len(c.Arguments) > MaxText {
		return "", tooLong(len(c.Arguments))
	}
	var b strings.Builder
	b.WriteString(Line(c.Tool) + "\n")
	if d.hasChanges() {
		d.changes(&b)
	} else {
		arguments(&b, c.Arguments)
	}
	for _, p := range c.Places {
		fmt.Fprintf(&b, "  leads to: %s\n", Line(disk.Arrow(c.Dir, p)))
	}
	if c.Tool == "shell" && c.Dir != "" {
		fmt.Fprintf(&b, "  in: %s\n", Line(directory(c)))
	}
	if c.Job != "" {
		block(&b, "the job runs", c.Job)
	}
	d.effects(&b)
	if b.Len() > MaxText {
		return "", tooLong(b.Len())
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func tooLong(size int) error {
	return &TooLongError{fmt.Sprintf("%d bytes, at most %d", size, MaxText)}
}

// directory returns the directory in which the command runs.
func directory(c Call) string {
	var in struct{ Workdir string }
	_ = json.Unmarshal([]byte(c.Arguments), &in) // Text shows invalid arguments unchanged
	if filepath.IsAbs(in.Workdir) {
		return filepath.Clean(in.Workdir)
	}
	return filepath.Join(c.Dir, in.Workdir)
}

// arguments writes all arguments, including repeated ones.
func arguments(b *strings.Builder, raw string) {
	list, err := fields(raw)
	if err != nil {
		block(b, "arguments", raw)
		return
	}
	for _, f := range list {
		var text string
		if json.Unmarshal(f.value, &text) != nil {
			text = string(f.value)
		}
		if !strings.Contains(text, "\n") && f.name != "command" {
			fmt.Fprintf(b, "  %s: %s\n", Line(f.name), collapseEmptyLines(Line(text)))
			continue
		}
		block(b, f.name, text)
	}
}

// block writes text of several lines, indented deeper than settle's own text.
func block(b *strings.Builder, name, text string) {
	fmt.Fprintf(b, "  %s:\n", Line(name))
	text = collapseEmptyLines(Visible(strings.TrimSuffix(text, "\n")))
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight("      "+line, " ") + "\n")
	}
}

type field struct {
	name  string
	value json.RawMessage
}

// fields returns the members of a JSON object in their order.
func fields(raw string) ([]field, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(raw)))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("it is no object")
	}
	var out []field
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var f field
		f.name, _ = name.(string) // names are strings
		if err := dec.Decode(&f.value); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows it")
	}
	return out, nil
}

// hasChanges reports whether the detail has the complete change.
func (d detail) hasChanges() bool {
	for _, f := range d.Files {
		if f.Cut {
			return false
		}
	}
	return len(d.Files) > 0 && d.Error == ""
}

func (d detail) changes(b *strings.Builder) {
	for _, f := range d.Files {
		name := f.Path
		if f.From != "" {
			name = f.From + " -> " + f.Path
		}
		text := f.Diff
		switch {
		case text != "":
		case f.Kind == "update":
			text = "(no change)"
		case f.Kind != "move":
			text = "(an empty file)"
		}
		block(b, f.Kind+" "+name, text)
	}
}

// effects writes the judge's details about the parts of a command.
func (d detail) effects(b *strings.Builder) {
	if d.Error != "" {
		fmt.Fprintf(b, "  this would fail: %s\n", Line(d.Error))
	}
	if len(d.Commands) < 2 { // a single part equals the command itself
		return
	}
	b.WriteString("  step by step:\n")
	for _, c := range d.Commands {
		fmt.Fprintf(b, "      [%s] %s", Line(c.Decision), collapseEmptyLines(Line(c.Text)))
		if c.Why != "" {
			fmt.Fprintf(b, "  (%s)", Line(c.Why))
		}
		b.WriteString("\n")
	}
}
