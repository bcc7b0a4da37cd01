package tui

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// typing is an answer whose text a person types: the changed command, or instructions. The editor
// has the text, and gets its own text back.
type typing struct {
	id       string // names the answer: its text stays if the person goes back to the answers
	approval string
	command  string // that is changed; empty for other answers
	plan     bool   // the answer is to a plan; command is then the plan that is changed
	words    bool   // the answer is to a question of the model; else it is an instruction
	draft    []part // the editor's text of before
}

func (t *typing) help() string {
	switch {
	case t.words:
		return "Your answer: Enter gives it, Esc goes back to the answers"
	case t.plan && t.command != "":
		return "Edit the plan: Enter accepts it, Esc goes back to the answers"
	case t.plan:
		return "Say what to change: Enter sends it, Esc goes back to the answers"
	case t.command != "":
		return "Edit the command: Enter runs it, Esc goes back to the answers"
	}
	return "Say what to do instead: Enter denies the call with it, Esc goes back to the answers"
}

// typing returns the answer that is typed to the question on the screen; nil for none.
func (u *UI) typing() *typing {
	t := u.questions.typed
	if t == nil {
		return nil
	}
	if a, _ := u.pendingApproval(); a == nil || a.Approval != t.approval { // another client has answered
		u.stopTyping()
	}
	return u.questions.typed
}

// startTyping puts the text of the answer into the editor, as it was left.
func (u *UI) startTyping(t *typing) {
	t.draft = slices.Clone(u.input.editor.parts)
	u.input.editor.put(u.questions.texts[t.id])
	if u.input.editor.empty() {
		u.input.editor.put(partsOf(t.command))
	}
	u.input.vi.begin()
	u.questions.typed = t
}

// stopTyping keeps the text of the answer, and gives the editor its own text back.
func (u *UI) stopTyping() {
	t := u.questions.typed
	if u.questions.texts == nil {
		u.questions.texts = map[string][]part{}
	}
	u.questions.texts[t.id] = u.input.editor.parts
	u.input.editor.put(t.draft)
	u.questions.typed = nil
}

func (u *UI) typeInstead(a *event.Approval) {
	u.startTyping(&typing{
		id: a.Approval + "/instead", approval: a.Approval, plan: asker.IsPlan(a.ApprovalRequested),
	})
}

func (u *UI) editCommand(a *event.Approval) {
	if command, ok := u.commandOf(a); ok {
		u.startTyping(&typing{
			id: a.Approval + "/command", approval: a.Approval, command: command,
			plan: asker.IsPlan(a.ApprovalRequested),
		})
	}
}

// goesBack reports whether the key leaves the text of an answer.
func (u *UI) goesBack(k terminal.Key) bool {
	do := u.Keys.Action(keymap.Prompt, k.Name)
	return k.Name == "esc" || do == keymap.Interrupt || do == keymap.Cancel
}

// typingKey edits the text of the answer, gives the answer, or goes back to the menu.
func (u *UI) typingKey(a *event.Approval, k terminal.Key) {
	e, do := &u.input.editor, u.Keys.Action(keymap.Prompt, k.Name)
	switch {
	case u.goesBack(k) && u.freeText(a):
		u.declineKey(a)
	case u.goesBack(k):
		u.stopTyping()
	case u.freeText(a) && u.isBack(a, k):
		u.stopTyping()
		u.askBefore(a)
	case do == keymap.Send, do == keymap.SendNow:
		u.giveTyped(a, strings.TrimSpace(e.text()))
	case do == keymap.Up:
		e.up()
	case do == keymap.Down:
		e.down()
	case u.viKey(k):
	default:
		e.key(do, k)
	}
}

// giveTyped gives the answer with its text. An empty text is no answer.
func (u *UI) giveTyped(a *event.Approval, text string) {
	t := u.questions.typed
	if t.words {
		q, given := u.current(a)
		if text == "" && u.freeText(a) {
			text = q.Assumed()
		}
		switch {
		case text != "":
			u.stopTyping()
			u.answerWords(a, text)
		case given.words != "": // they are taken back
			u.stopTyping()
			given.words = ""
		}
		return
	}
	if text == "" {
		return
	}
	answer := settle.Answer{Approval: a.Approval, Verdict: event.Denied, Message: text, By: user}
	if t.command != "" {
		answer.Verdict, answer.Message = event.Approved, ""
		if text != strings.TrimSpace(t.command) {
			answer.Arguments = u.withCommand(a, text)
		}
	}
	u.stopTyping()
	u.answer(answer)
}

// argumentsOf returns the arguments of a call that waits for its approval.
func (u *UI) argumentsOf(a *event.Approval) (arguments map[string]json.RawMessage) {
	t := u.state().Running()
	if t == nil || a.Child != "" || a.Form != nil ||
		toolview.KindOf(a.Tool) != toolview.Command && !asker.IsPlan(a.ApprovalRequested) {
		return nil
	}
	if i := t.Item(a.Call); i == nil || json.Unmarshal([]byte(i.Content().Arguments), &arguments) != nil {
		return nil
	}
	return arguments
}

// editable is the argument of the call that a person can change.
func editable(a *event.Approval) string {
	if asker.IsPlan(a.ApprovalRequested) {
		return "plan"
	}
	return "command"
}

// commandOf returns the command of the call that waits, if a person can change it.
func (u *UI) commandOf(a *event.Approval) (command string, ok bool) {
	raw := u.argumentsOf(a)[editable(a)]
	return command, raw != nil && json.Unmarshal(raw, &command) == nil && strings.TrimSpace(command) != ""
}

// withCommand returns the call's arguments with another command.
func (u *UI) withCommand(a *event.Approval, command string) string {
	arguments := u.argumentsOf(a)
	arguments[editable(a)] = event.AppendString(nil, command)
	raw, _ := event.AppendJSON(nil, arguments) // it was JSON
	return string(raw)
}
