package tui

import (
	"fmt"
	"slices"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/question"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
	"github.com/settle-agent/settle/tool/ask"
)

// answering are the answers to the model's questions, which are asked one after the other.
type answering struct {
	approval string
	answers  [][]string // of the questions that are answered
	chosen   []string   // options of the current question, if several can be chosen
}

// answeredRows are the answers to the questions of a call of ask_user that has ended, one row for each
// question: "header → answer".
func answeredRows(content event.Content, all string) func(int) []terminal.Line {
	replies, known := ask.Replies(content)
	if !known {
		return outputRows(content.Output, maxOther, all)
	}
	mark := terminal.Plain("  │ ", faint())
	return func(width int) (rows []terminal.Line) {
		for _, reply := range replies {
			line := terminal.Plain(terminal.OneLine(reply), faint())
			rows = append(rows, terminal.Wrap(line, width, terminal.Indent{First: mark, Rest: mark})...)
		}
		return rows
	}
}

// answering returns the answers to the questions of the approval.
func (u *UI) answering(a *event.Approval) *answering {
	if u.questions.answers == nil || u.questions.answers.approval != a.Approval {
		u.questions.answers = &answering{approval: a.Approval}
	}
	return u.questions.answers
}

// current returns the question that is asked now. The last question stays while its answer
// is on its way.
func (u *UI) current(a *event.Approval) event.Question {
	return a.Form.Questions[min(len(u.answering(a).answers), len(a.Form.Questions)-1)]
}

// questionHead is the current question in one row.
func (u *UI) questionHead(a *event.Approval) string {
	head := terminal.OneLine(u.current(a).Question)
	if n := len(a.Form.Questions); n > 1 {
		head = fmt.Sprintf("%d/%d %s", min(len(u.answering(a).answers)+1, n), n, head)
	}
	return head
}

// menuOf names the question that a menu is for, and returns the answer that is selected at
// first: the default of a question of the model.
func (u *UI) menuOf(a *event.Approval) (of string, first int) {
	if a.Form == nil || len(a.Form.Questions) == 0 {
		return a.Approval, 0
	}
	q := u.current(a)
	at := slices.IndexFunc(q.Options, func(o event.Choice) bool { return o.Label == q.Assumed() })
	return fmt.Sprintf("%s/%d", a.Approval, len(u.answering(a).answers)), max(at, 0)
}

// freeText reports whether the question that waits takes text only: keys are its text.
func (u *UI) freeText(a *event.Approval) bool {
	return a != nil && a.Form != nil && len(a.Form.Questions) > 0 && len(u.current(a).Options) == 0
}

// typeAnswer has the editor take the answer to a question without options.
func (u *UI) typeAnswer() {
	a, _ := u.pendingApproval()
	if u.freeText(a) && u.typing() == nil && u.onScreen(a) {
		u.startTyping(&typing{approval: a.Approval, words: true})
	}
}

// onScreen reports whether the question has been on the screen long enough for a key to be
// meant for it.
func (u *UI) onScreen(a *event.Approval) bool {
	of, _ := u.menuOf(a)
	return of == u.display.shown.approval && time.Since(u.display.approvalSince) >= askDelay
}

// optionReplies are the answers to the current question of the model.
func (u *UI) optionReplies(a *event.Approval) (all []reply) {
	q, state := u.current(a), u.answering(a)
	for _, o := range q.Options {
		words := terminal.OneLine(o.Label)
		if o.Description != "" {
			words += ": " + terminal.OneLine(o.Description)
		}
		if q.MultiSelect {
			words = mark(slices.Contains(state.chosen, o.Label)) + words
		}
		all = append(all, reply{"", words, func(u *UI, a *event.Approval) { u.choose(a, o.Label) }})
	}
	if q.MultiSelect {
		all = append(all, reply{keymap.AllowOnce, "continue with these", func(u *UI, a *event.Approval) {
			u.answerQuestion(a, state.chosen...)
		}})
	}
	all = append(all, reply{keymap.DenyInstead, "answer in your own words", func(u *UI, a *event.Approval) {
		u.startTyping(&typing{approval: a.Approval, words: true})
	}})
	if u.answeredBefore(a) {
		all = append(all, reply{"", "back to the question before (←)", (*UI).askBefore})
	}
	return append(all,
		reply{keymap.Interrupt, "decline to answer", func(u *UI, a *event.Approval) { u.verdict(a, event.Denied) }},
	)
}

// answeredBefore reports whether there is an earlier question to go back to.
func (u *UI) answeredBefore(a *event.Approval) bool {
	if a == nil || a.Form == nil || len(a.Form.Questions) == 0 {
		return false
	}
	n := len(u.answering(a).answers)
	return n > 0 && n < len(a.Form.Questions)
}

// askBefore asks the question before the current one again. Its options that were chosen stay chosen.
func (u *UI) askBefore(a *event.Approval) {
	state := u.answering(a)
	n := len(state.answers) - 1
	last := state.answers[n]
	state.answers, state.chosen = state.answers[:n], nil
	if q := a.Form.Questions[n]; q.MultiSelect {
		state.chosen = slices.DeleteFunc(slices.Clone(last), func(label string) bool { return !q.Has(label) })
	}
}

// isBack reports whether the key goes back to the question before: with text, it moves the cursor.
func (u *UI) isBack(a *event.Approval, k terminal.Key) bool {
	return k.Name == "left" && u.input.editor.empty() && u.answeredBefore(a)
}

func mark(chosen bool) string {
	if chosen {
		return "☑ "
	}
	return "☐ "
}

// choose chooses an option. Of several that can be chosen, it adds or removes one.
func (u *UI) choose(a *event.Approval, label string) {
	if !u.current(a).MultiSelect {
		u.answerQuestion(a, label)
		return
	}
	state := u.answering(a)
	if n := slices.Index(state.chosen, label); n >= 0 {
		state.chosen = slices.Delete(state.chosen, n, n+1)
		return
	}
	state.chosen = append(state.chosen, label)
}

// answerQuestion answers the current question. The answer to the last one sends all.
func (u *UI) answerQuestion(a *event.Approval, answers ...string) {
	state := u.answering(a)
	if len(state.answers) >= len(a.Form.Questions) { // on its way
		return
	}
	if q := u.current(a); q.MultiSelect && len(answers) == 1 && !q.Has(answers[0]) {
		answers = append(slices.Clone(state.chosen), answers...) // words beside the chosen options
	}
	state.answers, state.chosen = append(state.answers, answers), nil
	if len(state.answers) < len(a.Form.Questions) {
		return
	}
	content := question.Content(a.Form.Questions, state.answers)
	u.questions.answers = nil // an answer that is refused starts again
	u.answer(settle.Answer{Approval: a.Approval, Verdict: event.Approved, Content: content, By: user})
}
