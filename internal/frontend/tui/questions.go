package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/terminal"
)

// questions holds the answers on their way and the open form.
type questions struct {
	answeredIDs map[string]bool // approvals whose answer is on its way
	form        *filling        // that is filled in; nil for none
}

// filling is a form that is filled in, in the editor's place.
type filling struct {
	approval string
	entry    *asker.Entry
}

// fill is the form of the question on the screen that is filled in; nil for none.
func (u *UI) fill() *filling {
	if a, _ := u.pendingApproval(); u.questions.form == nil || a == nil || a.Approval != u.questions.form.approval {
		u.questions.form = nil
	}
	return u.questions.form
}

// begin begins to fill in a form. A page that was opened is an answer by itself.
func (u *UI) begin(a *event.Approval) {
	entry, err := asker.NewEntry(*a.Form)
	if err != nil {
		u.showHint("%v", err)
		return
	}
	u.questions.form = &filling{a.Approval, entry}
	u.sendForm()
}

// fillIn uses the editor's text as the value of the current field.
func (u *UI) fillIn() {
	text := u.input.editor.text()
	u.input.editor.clear()
	if err := u.questions.form.entry.Take(text); err != nil {
		u.showHint("%v", err)
		return
	}
	u.sendForm()
}

// sendForm sends a form that is filled in whole.
func (u *UI) sendForm() {
	form := u.questions.form
	if form.entry.Prompt() != "" {
		return
	}
	u.questions.form = nil
	if err := form.entry.Check(); err != nil {
		u.showHint("%v", err)
		return
	}
	u.answer(settle.Answer{Approval: form.approval, Verdict: event.Approved, Content: form.entry.Content(), By: user})
}

// answer sends the answer and hides the question.
func (u *UI) answer(a settle.Answer) {
	u.questions.answeredIDs[a.Approval] = true
	c := u.view.conversation
	u.enqueue(func(ctx context.Context) error {
		err := c.Answer(ctx, a)
		var late *settle.AnsweredError
		if errors.As(err, &late) { // C16: the late answer ran nothing, and the approval's end has the reason
			return nil
		}
		return err
	})
}

// answerKey answers the question on the screen, and reports whether the key did.
// With text in the editor, letters are text, and answers need Alt.
func (u *UI) answerKey(k terminal.Key) bool {
	a, _ := u.pendingApproval()
	if a == nil || a.Approval != u.display.shown.approval || time.Since(u.display.approvalSince) < askDelay {
		return false
	}
	name, alt := strings.CutPrefix(k.Name, "alt+")
	filling := u.fill() != nil
	if filling && k.Name == "enter" {
		u.fillIn()
		return true
	}
	if !alt && (filling || !u.input.editor.empty()) {
		return false
	}
	verdict, ok := map[string]event.Verdict{"y": event.Approved, "s": event.ApprovedSession, "n": event.Denied}[name]
	switch {
	case !ok || a.Form != nil && verdict == event.ApprovedSession || filling && verdict == event.Approved:
		return false
	case a.Form != nil && verdict == event.Approved:
		u.begin(a)
	default:
		u.questions.form = nil
		u.answer(settle.Answer{Approval: a.Approval, Verdict: verdict, By: user})
	}
	return true
}

// pendingApproval returns the approval that waits longest, and how many wait behind it.
func (u *UI) pendingApproval() (first *event.Approval, more int) {
	for _, a := range u.state().Asked() {
		switch {
		case u.questions.answeredIDs[a.Approval]:
		case first == nil:
			first = a
		default:
			more++
		}
	}
	return first, more
}

// askRows are the answers to the question that waits; the question itself has
// been committed, whole.
func (u *UI) askRows(width int) []terminal.Line {
	a, more := u.pendingApproval()
	if a == nil {
		return nil
	}
	text := "Allow " + terminal.OneLine(a.Title) + "?"
	if a.Form != nil {
		text = asker.Headline(a.ApprovalRequested)
	}
	head := terminal.Line{{Text: text, Style: warning().With(terminal.Bold)}}
	if more > 0 {
		head = append(head, terminal.Span{Text: fmt.Sprintf("  (%d more wait)", more), Style: faint()})
	}
	key := ""
	if !u.input.editor.empty() {
		key = "Alt-"
	}
	choices := fmt.Sprintf("%sy once  %ss for the session  %sn no", key, key, key)
	switch form := u.fill(); {
	case form != nil:
		choices = terminal.OneLine(form.entry.Prompt()) + "  Enter takes it  Alt-n decline"
	case a.Form != nil && a.Form.URL != "":
		choices = fmt.Sprintf("%sy I have opened it  %sn decline", key, key)
	case a.Form != nil:
		choices = fmt.Sprintf("%sy fill it in  %sn decline", key, key)
	}
	if u.state().Running() != nil { // else a child in the background asks
		choices += "  Esc ends the turn"
	}
	return append(
		[]terminal.Line{terminal.Clip(head, width)},
		terminal.Wrap(terminal.Plain(choices, bold()), width, terminal.Indent{})...,
	)
}
