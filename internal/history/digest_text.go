package history

import (
	"fmt"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/tool/plan"
)

const (
	// maxFiles and maxCommands bound the listed files and commands, the latest ones.
	maxFiles, maxCommands = 80, 40
	maxCommand            = 160 // bytes of a command
)

// Text returns the digest in about so many bytes. User inputs come first and are shortened last;
// of the other facts, the latest stay.
func (l Digest) Text(room int) string {
	var out string
	for _, s := range []share{
		{16 << 10, maxFiles, maxCommands, 64 << 10, 16 << 10},
		{4 << 10, maxFiles, maxCommands, 32 << 10, 16 << 10},
		{4 << 10, maxFiles / 2, maxCommands / 2, 16 << 10, 8 << 10},
		{1 << 10, maxFiles / 4, maxCommands / 4, 8 << 10, 4 << 10},
		{300, maxFiles / 8, maxCommands / 8, 2 << 10, 0},
		{100, 5, 5, 0, 0},
	} {
		if out = l.text(s, len(l.Inputs)); len(out) <= room {
			return out
		}
	}
	inputs := len(l.Inputs)
	for inputs > 1 && len(out) > room {
		inputs /= 2
		out = l.text(share{100, 5, 5, 0, 0}, inputs)
	}
	return out
}

// share bounds the parts of a digest: the bytes of each input, the latest files and commands, and
// the bytes of loaded texts and of the texts of PDFs.
type share struct{ input, files, commands, loaded, documents int }

// text returns the digest within the bounds, with the latest inputs.
func (l Digest) text(s share, inputs int) string {
	var b strings.Builder
	l.writeInputs(&b, "User messages, in order", l.Inputs, s.input, inputs)
	l.writeInputs(&b, "Sent by the user and still waiting", l.Waiting, s.input, len(l.Waiting))
	l.writePlan(&b, s.commands)
	l.writeLoaded(&b, bound.NewBudget(s.loaded))
	l.writeDocuments(&b, bound.NewBudget(s.documents))
	if list, left := latest(l.Files, s.files); len(list) > 0 {
		heading(&b, "Files", left)
		for _, f := range list {
			b.WriteString(f.line())
		}
	}
	if list, left := latest(l.Commands, s.commands); len(list) > 0 {
		heading(&b, "Commands that ran", left)
		for _, c := range list {
			b.WriteString(c.line())
		}
	}
	if len(l.Jobs) > 0 {
		heading(&b, "Jobs that run now", 0)
		for _, j := range l.Jobs {
			fmt.Fprintf(&b, "- job %s, pid %d: %s", j.Job, j.PID, oneLine(j.Command))
			if j.Log != "" {
				fmt.Fprintf(&b, " (output in %s)", j.Log)
			}
			b.WriteString("\n")
		}
	}
	l.writeChildren(&b, s.commands)
	if len(l.Approvals) > 0 {
		heading(&b, "Allowed by the user for the session", 0)
		for _, a := range l.Approvals {
			fmt.Fprintf(&b, "- %s: %s\n", a.Tool, oneLine(a.Covers))
		}
	}
	return b.String()
}

// writeInputs lists inputs: the first one and the latest others.
func (l Digest) writeInputs(b *strings.Builder, what string, list []Input, bytes, maxItems int) {
	if len(list) == 0 {
		return
	}
	heading(b, what, 0)
	for n, i := range list {
		if left := len(list) - maxItems; n > 0 && n <= left {
			if n == 1 {
				fmt.Fprintf(
					b,
					"[%d messages are omitted here; `settle sessions export %s` has them]\n",
					left,
					l.Session,
				)
			}
			continue
		}
		fmt.Fprintf(b, "%d. [%s", n+1, i.ID)
		if i.Images > 0 {
			fmt.Fprintf(b, ", with %d images", i.Images)
		}
		b.WriteString(documentsLine(i.Documents))
		if i.Held {
			b.WriteString(", held: it runs with the next message")
		}
		if i.Ended != "" {
			fmt.Fprintf(b, ", its turn ended: %s", i.Ended)
		}
		b.WriteString("] ")
		if i.Omitted {
			b.WriteString("(omitted because the provider refused it)\n")
			continue
		}
		b.WriteString(fold(i.Text, bytes, l.where(i)) + "\n")
	}
}

// where names the whole of an input.
func (l Digest) where(i Input) string {
	return fmt.Sprintf("%s in `settle sessions export %s`", i.ID, l.Session)
}

// writePlan lists the plan in at most so many lines; a longer plan omits its completed steps.
func (l Digest) writePlan(b *strings.Builder, maxItems int) {
	if len(l.Plan) == 0 {
		return
	}
	open := 0
	for _, s := range l.Plan {
		if s.Status != plan.Completed {
			open++
		}
	}
	heading(b, fmt.Sprintf("Your plan, %d of %d steps done", len(l.Plan)-open, len(l.Plan)), 0)
	withDone := len(l.Plan) <= maxItems
	for n, s := range l.Plan {
		switch {
		case s.Status == plan.Completed && !withDone:
			continue
		case maxItems == 0:
			fmt.Fprintf(b, "[the rest is in the log]\n")
			return
		}
		maxItems--
		fmt.Fprintf(b, "%d. [%s] %s\n", n+1, s.Status, oneLine(s.Step))
	}
}

// writeChildren lists the child agents: all running ones, and the latest others.
func (l Digest) writeChildren(b *strings.Builder, maxItems int) {
	left := -maxItems
	for _, c := range l.Children {
		if c.Ended != nil {
			left++
		}
	}
	left = max(left, 0)
	if len(l.Children) > 0 {
		heading(b, "Child agents", left)
	}
	for _, c := range l.Children {
		if c.Ended != nil && left > 0 {
			left--
			continue
		}
		fmt.Fprintf(b, "- %s (%s), session %s: %s\n", c.Child, oneLine(c.Title), c.Session, childStatus(c))
	}
}

func heading(b *strings.Builder, what string, left int) {
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	b.WriteString(what)
	if left > 0 {
		fmt.Fprintf(b, " (%d earlier entries are in the log)", left)
	}
	b.WriteString(":\n")
}

func (f File) line() string {
	var done []string
	if f.Read {
		done = append(done, "read")
	}
	switch {
	case f.Deleted:
		done = append(done, "deleted")
	case f.Written:
		done = append(done, "written")
	}
	out := "- " + oneLine(f.Path) + ": " + strings.Join(done, ", ")
	if len(f.SHA256) >= 8 {
		out += ", sha256 " + f.SHA256[:8]
	}
	switch {
	case f.Deleted && f.Now == Changed:
		out += ", exists again"
	case f.Now != Unknown && !(f.Deleted && f.Now == Missing):
		out += ", " + string(f.Now)
	}
	return out + "\n"
}

func (c Command) line() string {
	how := c.How
	if c.Exit != nil {
		how = strings.TrimPrefix(how+", ", ", ") + fmt.Sprintf("exit %d", *c.Exit)
	}
	if how == "" {
		how = "ran"
	}
	return "- " + how + ": " + oneLine(c.Text) + "\n"
}

// latest returns the end of the list, and the number of omitted elements.
func latest[T any](list []T, maxItems int) ([]T, int) {
	left := max(0, len(list)-maxItems)
	return list[left:], left
}

// fold keeps both ends of a text and states where the rest is.
func fold(text string, maxItems int, where string) string {
	if len(text) <= maxItems+len(where)+60 {
		return text
	}
	return bound.Ends(
		text,
		maxItems-maxItems/4,
		maxItems/4,
		"[%d bytes omitted; "+strings.ReplaceAll(where, "%", "%%")+"]",
	)
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return bound.Clip(s, maxCommand)
}

// childStatus describes the state of a child agent.
func childStatus(c *event.Child) string {
	switch {
	case c.Ended == nil:
		return "runs in the background"
	case c.Ended.Cause != nil:
		return c.Ended.Cause.Error()
	}
	return string(c.Ended.Outcome)
}
