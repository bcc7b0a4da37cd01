package tui

import (
	"fmt"
	"slices"
	"strings"
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
	at       int      // index of the current question; all are answered if there is no such question
	given    []answer // by question; an earlier answer stays if the person goes back
	declines bool     // the last key was an Esc that declines if it is repeated
}

// answer is an answer to a question of the model.
type answer struct {
	chosen []string // labels of options
	words  string   // the person's own, instead of a label or beside several
}

func (a *answer) empty() bool { return len(a.chosen) == 0 && a.words == "" }

// all returns the chosen labels and the words.
func (a *answer) all() []string {
	if a.words == "" {
		return a.chosen
	}
	return append(slices.Clone(a.chosen), a.words)
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

// isModelQuestion reports whether the approval has questions of the model.
func isModelQuestion(a *event.Approval) bool {
	return a != nil && a.Form != nil && len(a.Form.Questions) > 0
}

// answering returns the answers to the questions of the approval.
func (u *UI) answering(a *event.Approval) *answering {
	if u.questions.answers == nil || u.questions.answers.approval != a.Approval {
		u.questions.answers = &answering{approval: a.Approval, given: make([]answer, len(a.Form.Questions))}
	}
	return u.questions.answers
}

// current returns the question that is asked now and its answer, which the person can have given
// before. The last question stays while its answer is on its way.
func (u *UI) current(a *event.Approval) (event.Question, *answer) {
	state := u.answering(a)
	n := min(state.at, len(a.Form.Questions)-1)
	return a.Form.Questions[n], &state.given[n]
}

// questionHead is the current question in one row.
func (u *UI) questionHead(a *event.Approval) string {
	q, _ := u.current(a)
	head := terminal.OneLine(q.Question)
	if n := len(a.Form.Questions); n > 1 {
		head = fmt.Sprintf("%d/%d %s", min(u.answering(a).at+1, n), n, head)
	}
	return head
}

// menuOf returns the name of the question that a menu is for, and the index of the answer that is
// selected at first. For a question of the model, that is the earlier answer, or else the default.
func (u *UI) menuOf(a *event.Approval) (of string, first int) {
	switch {
	case a.Held:
		return a.Approval, len(u.heldReplies(a)) - 1
	case !isModelQuestion(a):
		return a.Approval, 0
	}
	q, given := u.current(a)
	at := slices.IndexFunc(q.Options, func(o event.Choice) bool {
		if given.empty() {
			return o.Label == q.Assumed()
		}
		return slices.Contains(given.chosen, o.Label)
	})
	if given.words != "" || q.MultiSelect && len(given.chosen) > 0 {
		at = len(q.Options) // the row of the own words, or "continue with these"
	}
	return fmt.Sprintf("%s/%d", a.Approval, u.answering(a).at), max(at, 0)
}

// freeText reports whether the question that waits takes text only: keys are its text.
func (u *UI) freeText(a *event.Approval) bool {
	if !isModelQuestion(a) {
		return false
	}
	q, _ := u.current(a)
	return len(q.Options) == 0
}

// typeAnswer has the editor take the answer to a question without options.
func (u *UI) typeAnswer() {
	a, _ := u.pendingApproval()
	if u.freeText(a) && u.typing() == nil && u.onScreen(a) {
		u.typeWords(a)
	}
}

// answersText reports whether the text in the editor is an answer to a question of the model with options: it
// was typed after the question appeared, and is no command.
func (u *UI) answersText(a *event.Approval) bool {
	if !isModelQuestion(a) || strings.TrimSpace(u.input.editor.text()) == "" {
		return false
	}
	text := u.input.editor.text()
	_, _, isCommand := commandOf(text)
	of, _ := u.menuOf(a)
	return u.questions.emptyFor == of && !isCommand && !strings.HasPrefix(text, "!")
}

// textHint says what the text in the editor is for while a question of the model waits.
func (u *UI) textHint(a *event.Approval) string {
	switch of, _ := u.menuOf(a); {
	case !isModelQuestion(a):
	case u.input.editor.empty():
		u.questions.emptyFor = of
	case u.answersText(a):
		return "  Enter gives your text as the answer"
	default:
		return "  Enter sends your text as a prompt after this turn; the keys below answer"
	}
	return ""
}

// onScreen reports whether the question has been on the screen long enough for a key to be
// meant for it.
func (u *UI) onScreen(a *event.Approval) bool {
	of, _ := u.menuOf(a)
	return of == u.display.shown.approval && time.Since(u.display.approvalSince) >= askDelay
}

// optionReplies are the answers to the current question of the model.
func (u *UI) optionReplies(a *event.Approval) (all []reply) {
	q, given := u.current(a)
	for _, o := range q.Options {
		words := terminal.OneLine(o.Label)
		if o.Description != "" {
			words += ": " + terminal.OneLine(o.Description)
		}
		if q.MultiSelect {
			words = mark(slices.Contains(given.chosen, o.Label)) + words
		}
		all = append(all, reply{"", words, func(u *UI, a *event.Approval) { u.choose(a, o.Label) }, 0})
	}
	if q.MultiSelect {
		all = append(all, reply{keymap.AllowOnce, "continue with these", func(u *UI, a *event.Approval) {
			u.answerQuestion(a, *given)
		}, 0})
	}
	words := "answer in your own words"
	if given.words != "" {
		words += ": " + terminal.Short(given.words, maxHelp)
	}
	all = append(all, reply{keymap.DenyInstead, words, (*UI).typeWords, 0})
	if u.answeredBefore(a) {
		all = append(all, reply{"", "back to the question before (←)", (*UI).askBefore, 0})
	}
	return append(all,
		reply{keymap.Interrupt, "decline to answer", func(u *UI, a *event.Approval) { u.verdict(a, event.Denied) }, 0},
	)
}

// answeredBefore reports whether there is an earlier question to go back to.
func (u *UI) answeredBefore(a *event.Approval) bool {
	if !isModelQuestion(a) {
		return false
	}
	n := u.answering(a).at
	return n > 0 && n < len(a.Form.Questions)
}

// askBefore asks the question before the current one again. All answers stay.
func (u *UI) askBefore(a *event.Approval) {
	u.answering(a).at--
	u.questions.menuOf = "" // the menu selects the answer that was given
	u.typeAgain(a)
}

// typeAgain shows the text that was typed to a question without options.
func (u *UI) typeAgain(a *event.Approval) {
	if _, given := u.current(a); u.freeText(a) && given.words != "" {
		u.typeWords(a)
	}
}

// typeWords has the editor take an answer in the person's own words.
func (u *UI) typeWords(a *event.Approval) {
	of, _ := u.menuOf(a)
	u.startTyping(&typing{id: of + "/words", approval: a.Approval, words: true})
}

// declineKey declines to answer. A key that would lose answers must be pressed twice.
func (u *UI) declineKey(a *event.Approval) {
	state := u.answering(a)
	answered := slices.ContainsFunc(state.given, func(one answer) bool { return !one.empty() })
	typed := u.questions.typed != nil && !u.input.editor.empty()
	if !state.declines && (answered || typed) {
		state.declines = true
		u.showHint("%s again declines, without the answers so far", u.Keys.Label(keymap.Interrupt, "Ctrl-C"))
		return
	}
	if u.questions.typed != nil {
		u.stopTyping()
	}
	u.verdict(a, event.Denied)
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

// choose chooses an option. If several options can be chosen, it adds or removes one.
func (u *UI) choose(a *event.Approval, label string) {
	q, given := u.current(a)
	if !q.MultiSelect {
		u.answerQuestion(a, answer{chosen: []string{label}})
		return
	}
	if n := slices.Index(given.chosen, label); n >= 0 {
		given.chosen = slices.Delete(given.chosen, n, n+1)
		return
	}
	given.chosen = append(given.chosen, label)
}

// answerWords answers the current question with the person's own words. Words that are a label
// choose it.
func (u *UI) answerWords(a *event.Approval, words string) {
	switch q, given := u.current(a); {
	case q.Has(words) && len(q.Options) > 0:
		u.answerQuestion(a, answer{chosen: []string{words}})
	case q.MultiSelect: // they stand beside the chosen options
		u.answerQuestion(a, answer{chosen: given.chosen, words: words})
	default:
		u.answerQuestion(a, answer{words: words})
	}
}

// answerQuestion answers the current question. The answer to the last one sends all.
func (u *UI) answerQuestion(a *event.Approval, one answer) {
	state := u.answering(a)
	if state.at >= len(a.Form.Questions) { // on its way
		return
	}
	state.given[state.at] = one
	if state.at++; state.at < len(a.Form.Questions) {
		u.typeAgain(a)
		return
	}
	var answers [][]string
	for _, one := range state.given {
		answers = append(answers, one.all())
	}
	content := question.Content(a.Form.Questions, answers)
	u.questions.answers = nil // an answer that is refused starts again
	u.answer(settle.Answer{Approval: a.Approval, Verdict: event.Approved, Content: content, By: user})
}
