package sessions

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/atif"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/terminal"
)

// Show writes a session for people: texts, calls, and the ending of each.
func Show(to io.Writer, dataDir, session string) error {
	state, err := journal.Load(dataDir, session)
	if err != nil && state.Session == "" {
		return err
	}
	var b bytes.Buffer
	if state.Seq == 0 && err == nil {
		_, err := fmt.Fprintf(to, "session %s is empty\n", session)
		return err
	}
	fmt.Fprintf(&b, "session %s in %s\n", state.Session, terminal.Text(state.Host.Dir))
	if p := state.Host.Parent; p != "" {
		fmt.Fprintf(&b, "child agent %s of session %s\n", terminal.Text(state.Host.Child), terminal.Text(p))
	}
	if w := state.Host.Worktree; w != nil {
		how := treeOf(*w, !state.Open, state.WorktreeLeft)
		fmt.Fprintf(&b, "git worktree of %s: %s\n", terminal.Text(w.From), how)
		showMerge(&b, *w, how)
	}
	fmt.Fprintf(&b, "created %s, changed %s\n", local(state.Created), local(state.Updated))
	if parts := transcript.Spent(transcript.Total(state)); len(parts) > 0 {
		fmt.Fprintln(&b, strings.Join(parts, ", "))
	}
	now := "runs"
	if free, err := journal.Free(dataDir, session); free && err == nil {
		now = "did not end: its process died; opening the session ends it" // according to the lock
	}
	width := terminal.Columns(to)
	for _, t := range state.Turns {
		showTurn(&b, t, now, width)
	}
	for _, in := range state.Waiting {
		waits := "waits"
		if in.Held {
			waits = "is held, and runs with the next input"
		}
		fmt.Fprintf(&b, "\n> %s\n  (%s)\n", quoted(transcript.Typed(&in)), waits)
	}
	for _, h := range state.HeldCalls() {
		fmt.Fprintf(&b, "\nheld call %s of turn %s: %s\n", h.ID[:8], h.Turn.ID, terminal.Text(h.Approval.Title))
	}
	for _, c := range state.Children {
		showChild(&b, c, now)
	}
	for _, j := range state.Jobs {
		how := now
		if j.Ended != nil {
			how = string(j.Ended.How)
		}
		fmt.Fprintf(&b, "\njob %s (pid %d): %s: %s\n", j.Job, j.PID, terminal.Text(j.Command), how)
	}
	_, writeErr := to.Write(b.Bytes())
	return errors.Join(writeErr, err)
}

// showChild writes how far a child agent is.
func showChild(b *bytes.Buffer, c *event.Child, now string) {
	how := now
	if c.Ended != nil {
		how = terminal.Text(c.Ended.Words())
		if ms := c.Ended.ElapsedMS; ms > 0 {
			how += " after " + terminal.Duration(time.Duration(ms)*time.Millisecond)
		}
		if c.Ended.Spent != nil {
			how = strings.Join(append([]string{how}, transcript.Spent(*c.Ended.Spent)...), "; ")
		}
		if c.Unreported() {
			how += "; the model receives the result with the next input"
		}
	}
	fmt.Fprintf(b, "\nchild agent %s, session %s: %s: %s\n", c.Child, c.Session, terminal.Text(c.Title), how)
	if c.Worktree != nil {
		var left *event.WorktreeLeft
		if c.Ended != nil {
			left = c.Ended.Worktree
		}
		how := treeOf(*c.Worktree, c.Ended != nil, left)
		fmt.Fprintf(b, "  git worktree %s: %s\n", terminal.Text(c.Worktree.Path), how)
		showMerge(b, *c.Worktree, how)
	}
}

// showMerge writes the commands that merge and discard the work in a worktree that is kept.
func showMerge(b *bytes.Buffer, w event.Worktree, how string) {
	if !strings.HasPrefix(how, worktreeKept) {
		return
	}
	for _, line := range transcript.WorktreeCommands(w) {
		fmt.Fprintln(b, terminal.Text(line))
	}
}

// worktreeKept begins the description of a worktree that is left to the user.
const worktreeKept = "kept"

// treeOf describes a session's worktree, from the disk and the log.
func treeOf(w event.Worktree, ended bool, left *event.WorktreeLeft) string {
	if _, err := os.Lstat(w.Path); err != nil {
		return "removed"
	}
	branch := "(branch " + terminal.Text(w.Branch) + ")"
	switch {
	case !ended:
		return "in use " + branch
	case left == nil || left.Why == "":
		return worktreeKept + " " + branch
	}
	return worktreeKept + " " + branch + ": " + terminal.Text(left.Why)
}

func local(at time.Time) string { return at.Local().Format(time.DateTime) }

// quoted makes a text printable, with all lines but the first indented.
func quoted(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(terminal.Text(text)), "\n", "\n  ")
}

// showTurn writes a turn; now describes a turn without an ending, and width is the width of the terminal.
func showTurn(b *bytes.Buffer, t *event.Turn, now string, width int) {
	for e := range transcript.Entries(t) {
		switch {
		case e.Input == nil:
			showItem(b, e.Item, width)
		case e.Input.By == event.Resumer:
			fmt.Fprintf(b, "\n(%s)\n", quoted(transcript.ResumedWords(e.Input)))
		default:
			fmt.Fprintf(b, "\n> %s\n", quoted(transcript.Typed(e.Input)))
		}
	}
	for _, c := range t.Changes {
		if c.Change == event.ChangeCompacted {
			fmt.Fprintf(b, "\n(%s)\n", terminal.Text(c.Why))
		}
	}
	if t.Cause == nil {
		fmt.Fprintf(b, "\n[%s %s]\n", t.ID, now)
		return
	}
	fmt.Fprintf(
		b,
		"\n[%s: %s]\n",
		t.ID,
		strings.Join(
			append(
				[]string{terminal.Text(transcript.AfterWords(t.Cause, transcript.Elapsed(t, terminal.Duration)))},
				transcript.SpentIn(t)...,
			), "; ",
		),
	)
}

func showItem(b *bytes.Buffer, i *event.Item, width int) {
	const maxOutput = 600
	c := i.Content()
	switch c.Type {
	case event.Message:
		fmt.Fprintf(b, "\n%s\n", terminal.Text(strings.TrimSpace(c.Text)))
	case event.Note:
		fmt.Fprintf(b, "\n(message to the model: %s)\n", quoted(c.Text))
	case event.ToolCall:
		var call strings.Builder
		fmt.Fprintf(&call, "\n→ %s %s\n", terminal.Text(c.Name), quoted(c.RanWith()))
		if who := transcript.Changed(i); who != "" {
			fmt.Fprintf(&call, "  (%s; the model wrote: %s)\n", who, quoted(c.Arguments))
		}
		how, why := transcript.Denial(i)
		if how == "" {
			how, why = cmp.Or(transcript.Ending(i), string(i.Status)), c.Output
		}
		if out := quoted(head(why, maxOutput)); out != "" {
			fmt.Fprintf(&call, "  %s\n", out)
		}
		b.WriteString(asker.Fold(call.String(), width))
		if c.ExitCode != nil {
			how += fmt.Sprintf(", exit code %d", *c.ExitCode)
		}
		if i.Status == event.ItemAborted {
			how += fmt.Sprintf(", effects: %s", i.Effects)
		}
		fmt.Fprintf(b, "  [%s]\n", how)
	}
}

func head(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + " …"
	}
	return text
}

// ExportATIF writes a session, with its child agents, as a trajectory for evaluation. If
// the log is damaged, ExportATIF writes the part before the damage, and the error and the
// trajectory name the damage.
func ExportATIF(to io.Writer, dataDir, session string) error {
	var damaged error
	load := func(session string) (event.State, error) {
		state, err := journal.Load(dataDir, session)
		if errors.As(err, new(*journal.DamageError)) && state.Session != "" {
			damaged = errors.Join(
				damaged, fmt.Errorf("session %s: %w; what comes before that is printed", session, err),
			)
			err = nil
		}
		return state, err
	}
	state, err := load(session)
	if err != nil {
		return err
	}
	state.Session = session // an empty log does not say
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	trajectory := atif.Of(state, load)
	if damaged != nil {
		trajectory.Note(damaged.Error())
	}
	return errors.Join(e.Encode(trajectory), damaged)
}

// Export writes the session's events as JSON, one a line. If the log is damaged, Export
// writes the part before the damage, and the error names the damage.
func Export(ctx context.Context, to io.Writer, dataDir, session string) error {
	w := bufio.NewWriterSize(to, 64<<10)
	var buf []byte
	for e, err := range journal.Read(ctx, dataDir, session, 0) {
		if err != nil {
			return errors.Join(w.Flush(), err)
		}
		if buf, err = e.AppendJSON(buf[:0]); err != nil {
			return errors.Join(w.Flush(), err)
		}
		if _, err := w.Write(append(buf, '\n')); err != nil {
			return err
		}
	}
	return w.Flush()
}
