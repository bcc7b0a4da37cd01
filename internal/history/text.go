package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
)

// Texts of settle for the model. They depend on the log only.

const (
	textContinue  = "Continue."
	textUnsaid    = "[A user message was omitted here because the provider refused it.]"
	textNoOutput  = "[The output was omitted because the provider refused it.]"
	textHidden    = "[Your messages and tool calls here were omitted because the provider refused them. Check the actual state before you repeat them.]"
	textEarlier   = "[The conversation before this point was omitted because the provider refused it.]"
	textCompacted = "[The conversation before this point was compacted to make room. settle's log keeps all of it. " +
		"Continue from here; do not start over.]"
	textUncompacted = "[The conversation before this point was compacted to make room. Its summary was omitted because the provider refused it.]"
	textGap         = "[A part of the conversation was omitted here to make room.]"

	foldedArguments = `{"omitted":"the provider refused the arguments of this call"}`
)

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

func appendLine(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}

func noImages(images []event.Image, why string) string {
	var names []string
	for n, i := range images {
		name := i.Name
		if name == "" {
			name = fmt.Sprintf("image %d", n+1)
		}
		names = append(names, name)
	}
	return fmt.Sprintf("[%s: omitted because %s]", strings.Join(names, ", "), why)
}

// changedText states the arguments of a call that a hook or the user changed; the history
// keeps the model's own arguments.
func changedText(i *event.Item) string {
	effective := i.Content().Effective
	if effective == "" {
		return ""
	}
	who := "A hook"
	if i.Edited {
		who = "The user"
	}
	return fmt.Sprintf("["+who+" changed this call. It ran with these arguments: %s]\n", effective)
}

// outputText is the output of a call for the model: its own output, and the facts about
// its ending.
func outputText(jobs []*event.Job, i *event.Item) string {
	c := i.Content()
	if i.Status != event.ItemAborted {
		if isBlank(c.Output) && i.Status == event.ItemFailed {
			return "The call failed without output." + jobsText(jobs, c)
		}
		if isBlank(c.Output) {
			return "The call had no output." + jobsText(jobs, c)
		}
		return c.Output + jobsText(jobs, c)
	}
	var b strings.Builder
	b.WriteString(abortedText(i))
	if isBlank(c.Output) {
		if i.Started {
			b.WriteString(" It had no output.")
		}
	} else {
		fmt.Fprintf(&b, " Output so far:\n%s", c.Output)
	}
	if len(c.Survivors) > 0 {
		fmt.Fprintf(&b, "\nProcesses that settle could not end: %s.", survivors(c.Survivors))
	}
	b.WriteString(jobsText(jobs, c))
	return b.String()
}

// commandText reports a command of the user to the model.
func commandText(jobs []*event.Job, i *event.Item) string {
	c := i.Content()
	var args struct {
		Command string `json:"command"`
	}
	if json.Unmarshal([]byte(c.Arguments), &args) != nil || args.Command == "" {
		args.Command = c.Arguments
	}
	return fmt.Sprintf(
		"[The user ran a command. This is information; do not answer it.]\n$ %s\n%s", args.Command, outputText(jobs, i),
	)
}

// heldText reports a held call that the user approved to the model.
func heldText(jobs []*event.Job, i *event.Item) string {
	c := i.Content()
	return fmt.Sprintf(
		"[An earlier call of yours waited for the user when settle stopped. The user approved it since. This is the "+
			"call and its outcome now; continue from here.]\n%s %s\n%s%s",
		c.Name, c.Arguments, changedText(i), outputText(jobs, i),
	)
}

// abortedText describes an aborted call. It never says that the user rejected the call.
func abortedText(i *event.Item) string {
	how := "The call was aborted"
	if i.Cause != nil {
		how = "The call was " + causeText(i.Cause)
	}
	if i.Started && i.Cause.HasEndTime() {
		if d := i.EndedAt.Sub(i.StartedAt); d >= 0 {
			how += " after " + seconds(d)
		}
	}
	switch i.Effects {
	case event.EffectsNone:
		return how + " before it started; it had no effects."
	case event.EffectsPartial:
		return how + "; it was stopped midway, so its effects may be partial."
	}
	return how + "; its effects are unknown: check before you repeat it."
}

// causeText continues the words "was …".
func causeText(c *event.Cause) string {
	if c.Outcome == event.Failed {
		return "aborted because the turn failed"
	}
	switch c.Reason {
	case event.Interrupted:
		return "interrupted by the user"
	case event.Replaced:
		return "interrupted by a new user message"
	case event.Shutdown:
		return "interrupted because settle was shut down"
	case event.Crashed:
		return "aborted because settle was killed"
	case event.LimitReached:
		return fmt.Sprintf("aborted because the turn reached its limit on %s", c.Limit)
	case event.Parent:
		return "aborted because its parent was cancelled"
	case event.MachineLost:
		return "aborted because its machine became unreachable"
	case event.TimedOut:
		return "aborted because it timed out"
	}
	return "aborted"
}

func jobsText(jobs []*event.Job, c event.Content) string {
	var b strings.Builder
	for _, id := range c.Jobs {
		for _, j := range jobs {
			if j.Job == id {
				fmt.Fprintf(&b, "\n[Still running as job %s: %s]", j.Job, cut(j.Command, 200))
			}
		}
	}
	return b.String()
}

func survivors(list []event.Process) string {
	var out []string
	for _, p := range list {
		out = append(out, fmt.Sprintf("%d (%s)", p.PID, cut(p.Command, 80)))
	}
	return strings.Join(out, ", ")
}

func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// turnEnd reports the ending of a turn that did not complete to the model, which
// explains why its answer stops in the middle.
func (w *walk) turnEnd(t *event.Turn, jobs []*event.Job) {
	c := t.Cause
	if c == nil || c.Outcome == event.Completed || len(t.Items) == 0 || len(t.Attempts) == 0 ||
		t.Start.Purpose != "" { // the outputs of commands report their own ending
		return
	}
	text := "failed"
	if c.Outcome == event.Aborted {
		text = "was " + causeText(c)
	}
	w.user(fmt.Sprintf("[The turn %s here. Do not resume it unless the user asks.%s]", text, runOn(jobs)))
}

// jobsAfter returns the jobs that ran when the turn after the n-th began. The model
// first receives the list then, and the list must not change afterwards (C21).
func (l Log) jobsAfter(n int) (running []*event.Job) {
	for _, j := range l.jobs {
		if n+1 < len(l.turns) {
			next := l.turns[n+1].StartSeq
			if j.StartSeq > next || j.Ended != nil && j.EndSeq < next {
				continue
			}
		} else if j.Ended != nil {
			continue
		}
		running = append(running, j)
	}
	return running
}

func runOn(jobs []*event.Job) string {
	if len(jobs) == 0 {
		return ""
	}
	var names []string
	for _, j := range jobs {
		names = append(names, fmt.Sprintf("%s (%s)", j.Job, cut(j.Command, 80)))
	}
	return fmt.Sprintf(" Jobs still running: %s.", strings.Join(names, ", "))
}

// ends keeps the beginning and the end of a text.
func ends(text string, head, tail int, what string) string {
	return bound.Ends(text, head, tail, "[%d bytes of this "+what+" were omitted here to make room]")
}

func trim(text, what, hint string) string {
	head := cutAt(text, trimmedHead)
	return fmt.Sprintf(
		"%s\n[%d more bytes of this %s were omitted to make room%s]", head, len(text)-len(head), what, hint,
	)
}

// cutAt returns at most n bytes of s, ending with a whole character.
func cutAt(s string, n int) string {
	return bound.Head(s, n)
}
