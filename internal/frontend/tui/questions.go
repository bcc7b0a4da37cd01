package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// questions holds the answers on their way and the answer that is being chosen or typed.
type questions struct {
	answeredIDs map[string]bool   // approvals whose answer is on its way
	form        *filling          // that is filled in; nil for none
	typed       *typing           // the answer whose text is typed; nil for none
	texts       map[string][]part // of answers that were not given, by the answer's id
	answers     *answering        // the model's questions that are answered; nil for none
	held        heldQuestions     // the questions of held calls
	emptyFor    string            // the question of the model that found the editor empty: text is for it
	menu        list              // the answers to the question
	menuOf      string            // the question that the menu is for
	keys        []reply           // the answers in the menu that have keys without Alt
}

// filling is a form that is filled in, in the editor's place.
type filling struct {
	approval string
	entry    *asker.Entry
}

// reply is an answer that a person can choose: its action, its words, and what it does. Its number is
// its place in the menu if it has none.
type reply struct {
	action, words string
	give          func(u *UI, a *event.Approval)
	number        int
}

// replies returns the answers to a question, in the order of the menu.
func (u *UI) replies(a *event.Approval) (all []reply) {
	switch {
	case isModelQuestion(a):
		all = u.optionReplies(a)
	case a.Held:
		all = u.heldReplies(a)
	default:
		// without a running turn, a child in the background asks
		all = u.repliesOf(a, asker.Choices(a.ApprovalRequested, u.state().Running() != nil))
		if _, ok := u.commandOf(a); ok {
			words := "edit the command, then run it"
			if asker.IsPlan(a.ApprovalRequested) {
				words = "edit the plan, then accept it"
			}
			all = append(all, reply{keymap.EditCommand, words, (*UI).editCommand, asker.NumberEdit})
		}
		if asker.IsPlan(a.ApprovalRequested) && hostOf(u.view.conversation) == "" {
			all = append(all, reply{
				"", "carry it out in a new session, which has only the plan", carryOutAnew, asker.NumberOther,
			})
		}
	}
	for n := range all {
		if all[n].number == 0 {
			all[n].number = n + 1
		}
	}
	return all
}

// repliesOf returns the answers of the choices that this client can give.
func (u *UI) repliesOf(a *event.Approval, choices []asker.Choice) (all []reply) {
	attached := hostOf(u.view.conversation) != ""
	for _, c := range choices {
		one := reply{action: c.Action, words: c.Words, number: c.Number, give: func(u *UI, a *event.Approval) {
			u.choice(a, c)
		}}
		switch {
		case c.Action == keymap.DenyInstead:
			one.give = (*UI).typeInstead
		case c.Action == keymap.Interrupt:
			one.give = func(u *UI, _ *event.Approval) { u.esc() }
		case c.Action == keymap.AllowOnce && a.Form != nil:
			one.give = (*UI).begin
		case c.Permission == "" || !attached:
		case c.Number > 1: // the permission of another process's session is that process's to choose
			continue
		default:
			c.Permission, one.words = "", event.PlanWords("")
		}
		all = append(all, one)
	}
	return all
}

// choice gives a choice as the answer.
func (u *UI) choice(a *event.Approval, c asker.Choice) {
	u.questions.form = nil
	got := c.Answer("")
	u.answer(settle.Answer{
		Approval: a.Approval, Verdict: got.Verdict, Explain: got.Explain, Permission: got.Permission, By: user,
	})
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

// verdict answers without a message for the model.
func (u *UI) verdict(a *event.Approval, v event.Verdict) {
	u.questions.form = nil
	u.answer(settle.Answer{Approval: a.Approval, Verdict: v, By: user})
}

// answer sends the answer and hides the question.
func (u *UI) answer(a settle.Answer) {
	u.questions.answeredIDs[a.Approval] = true
	c := u.view.conversation
	u.enqueue(func(ctx context.Context) error {
		err := c.Answer(ctx, a)
		var late *settle.AnsweredError
		if errors.As(err, &late) { // C16: the late answer ran nothing, and the approval's end has the reason
			switch late.Verdict {
			case event.Approved, event.ApprovedSession, event.Denied:
				u.send(func() { u.showHint("another client answered first: %s", late.Verdict.Past()) })
			default: // the turn ended
			}
			return nil
		}
		if err != nil { // nothing was recorded: the question still waits
			u.send(func() { delete(u.questions.answeredIDs, a.Approval) })
		}
		return err
	})
}

// answerKey answers the question on the screen, and reports whether the key did.
// With text in the editor, and for a held call, letters are text, and answers need Alt.
func (u *UI) answerKey(k terminal.Key) bool {
	a, _ := u.pendingApproval()
	if state := u.questions.answers; state != nil && !u.goesBack(k) {
		state.declines = false
	}
	u.typeAnswer()
	if u.typing() != nil {
		u.typingKey(a, k)
		return true
	}
	if u.isLate(a, k) {
		return true
	}
	if a == nil || !u.onScreen(a) {
		return false
	}
	name, alt := strings.CutPrefix(k.Name, "alt+")
	do := u.Keys.Action(keymap.Answer, name)
	if u.isBack(a, k) {
		u.askBefore(a)
		return true
	}
	filling := u.fill() != nil
	if filling && k.Name == "enter" {
		u.fillIn()
		return true
	}
	if u.answersText(a) && u.Keys.Action(keymap.Prompt, k.Name) == keymap.Send {
		text := strings.TrimSpace(u.input.editor.text())
		u.input.editor.clear()
		u.input.vi.begin()
		u.answerWords(a, text)
		return true
	}
	stops := u.Keys.Action(keymap.Prompt, k.Name) == keymap.Interrupt
	if stops && isModelQuestion(a) {
		u.declineKey(a)
		return true
	}
	if !alt && (filling || !u.input.editor.empty()) || stops {
		return false
	}
	replies := u.replies(a)
	if !alt && u.selectReply(a, replies, k.Name) {
		return true
	}
	if !alt && a.Held { // a prompt begins with these keys
		return false
	}
	if (do == keymap.AllowSession || name == "2") && a.Once && !a.Held && a.Form == nil {
		u.showHint("this call can be allowed only once: %s", u.Keys.Label(keymap.AllowOnce, "1"))
		return true
	}
	n := slices.IndexFunc(replies, func(r reply) bool { return r.action == do && do != "" })
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		n = slices.IndexFunc(replies, func(r reply) bool { return r.number == int(name[0]-'0') })
	}
	if n < 0 || filling && replies[n].action != keymap.Deny {
		return false
	}
	replies[n].give(u, a)
	return true
}

// isLate reports whether a key was meant for a question that has just disappeared: a person who answers
// sees its end a moment later. Such a key is no text.
func (u *UI) isLate(a *event.Approval, k terminal.Key) bool {
	d, now := &u.display, ""
	if a != nil {
		now, _ = u.menuOf(a)
	}
	isOnScreen := d.shown.approval != "" && d.shown.approval != now // the frame without it is under way
	if !isOnScreen && time.Since(d.approvalEnded) >= askDelay || !u.input.editor.empty() {
		return false
	}
	do := u.Keys.Action(keymap.Answer, k.Name)
	return k.Name == "enter" || (&list{}).key(k.Name) || slices.ContainsFunc(u.questions.keys, func(r reply) bool {
		return r.action == do && do != "" || k.Name == fmt.Sprint(r.number)
	})
}

// selectReply moves in the menu of answers, or gives the selected one.
func (u *UI) selectReply(a *event.Approval, replies []reply, key string) bool {
	menu := u.answerMenu(a, replies)
	if key == "enter" {
		replies[menu.at].give(u, a)
		return true
	}
	return menu.key(key)
}

// answerMenu is the menu of the question's answers.
func (u *UI) answerMenu(a *event.Approval, replies []reply) *list {
	q := &u.questions
	if of, first := u.menuOf(a); q.menuOf != of {
		q.menuOf, q.menu.at = of, first
	}
	q.menu.choices, q.menu.answers, q.keys = q.menu.choices[:0], true, nil
	if !a.Held {
		q.keys = replies
	}
	for _, r := range replies {
		key := u.Keys.Label(r.action, "")
		switch typed := (a.Held || !u.input.editor.empty()) && r.action != keymap.Interrupt; {
		case typed && utf8.RuneCountInString(key) == 1:
			key = "Alt-" + key
		case typed:
			key = fmt.Sprint("Alt-", r.number)
		}
		label := fmt.Sprintf("%d %s", r.number, r.words)
		q.menu.choices = append(q.menu.choices, choice{id: r.action, label: label, detail: key})
	}
	q.menu.at = min(q.menu.at, len(replies)-1)
	return &q.menu
}

// pendingApproval returns the question that is asked now, and how many wait behind it. It returns none while
// an answer is on its way: the next question follows the row of the answer. The questions of a host that
// has ended are not answered: the call is held, or gone.
func (u *UI) pendingApproval() (first *event.Approval, more int) {
	if u.view.lost {
		return nil, 0
	}
	for _, a := range append(openQuestions(u.state()), u.heldQuestions()...) {
		switch {
		case u.questions.answeredIDs[a.Approval] && !a.Held && first == nil:
			return nil, 0
		case u.questions.answeredIDs[a.Approval]:
		case first == nil:
			first = a
		default:
			more++
		}
	}
	return first, more
}

// openQuestions returns the questions that wait for an answer, in their order. The questions of an
// interrupted turn end with it.
func openQuestions(s event.State) []*event.Approval {
	t := s.Running()
	return slices.DeleteFunc(s.OpenApprovals(), func(a *event.Approval) bool {
		return t != nil && t.Interrupt != nil && slices.Contains(t.Approvals, a)
	})
}

// asks reports whether a question about the call waits: the question names it.
func (u *UI) asks(call string) bool {
	return slices.ContainsFunc(u.state().OpenApprovals(), func(a *event.Approval) bool {
		return a.Call == call && a.Child == "" && a.Form == nil
	})
}

// askHead is the question in one row. It names the call: other entries can separate it from the
// question's own.
func (u *UI) askHead(a *event.Approval) string {
	switch kind := toolview.KindOf(a.Tool); {
	case asker.IsPlan(a.ApprovalRequested) && a.Held:
		return "Accept this plan? It waited when settle stopped: " + terminal.OneLine(a.Title)
	case asker.IsPlan(a.ApprovalRequested):
		return asker.Headline(a.ApprovalRequested)
	case a.Held:
		return "Allow this call? It waited when settle stopped: " + terminal.OneLine(a.Title)
	case isModelQuestion(a):
		return u.questionHead(a)
	case a.Form != nil:
		return asker.Headline(a.ApprovalRequested)
	case a.Child != "":
		return "Allow " + terminal.OneLine(a.Title) + "?"
	case kind == toolview.Command:
		return "Allow this command?  " + terminal.OneLine(askedTitle(u.state().Running(), a, u.state().Host.Dir))
	case kind == toolview.Edit:
		dir := u.state().Host.Dir
		names := terminal.OneLine(changedFiles(dir, toolview.New(a.Tool, "", dir).Changes(a.Detail)))
		return "Allow the edit of " + cmp.Or(names, "files") + "?"
	}
	return asker.Headline(a.ApprovalRequested)
}

// changedFiles are the names of the files that change.
func changedFiles(dir string, changes []toolview.Change) string {
	var names []string
	for _, change := range changes {
		names = append(names, relative(dir, change.Path))
	}
	return strings.Join(names, ", ")
}

// askRows are the answers to the question that waits, in at most limit rows; the question
// itself has been committed, whole.
func (u *UI) askRows(width, limit int) []terminal.Line {
	a, more := u.pendingApproval()
	if a == nil {
		return nil
	}
	head := terminal.Line{{Text: u.askHead(a), Style: warning().With(terminal.Bold)}}
	if more > 0 {
		head = append(head, terminal.Span{Text: fmt.Sprintf("  (%d more wait)", more), Style: faint()})
	}
	rows := []terminal.Line{terminal.Clip(head, width)}
	words := ""
	if form := u.fill(); form != nil {
		words = terminal.OneLine(form.entry.Prompt()) + "  Enter takes it  Alt-" +
			u.Keys.Label(keymap.Deny, "3") + " decline"
	}
	if t := u.typing(); t != nil {
		words = t.help()
	}
	if u.freeText(a) {
		words = "Your answer: Enter gives it, Esc declines"
		q, _ := u.current(a)
		if assumed := q.Assumed(); assumed != "" {
			words = terminal.OneLine("Your answer: Enter gives it, or without text: " + assumed + ". Esc declines")
		}
		if u.answeredBefore(a) {
			words += ", ← goes back"
		}
	}
	if words != "" {
		return append(rows, terminal.Wrap(terminal.Plain(words, bold()), width, terminal.Indent{})...)
	}
	if words = u.textHint(a); words != "" {
		rows = append(rows, terminal.Clip(terminal.Plain(words, faint()), width))
	}
	answers := u.answerMenu(a, u.replies(a)).rows(width, max(limit-len(rows), 1))
	return append(append(rows, u.askedAgain(a, width, limit-len(rows)-len(answers))...), answers...)
}

// askedAgain returns the rows of a question that other entries have separated from its answers, in at
// most limit rows: the committed question may have left the screen.
func (u *UI) askedAgain(a *event.Approval, width, limit int) []terminal.Line {
	p := u.view.printout
	if p.questionID == a.Approval && p.after == 0 || limit < 1 || isModelQuestion(a) {
		return nil
	}
	rows := askEntry(a, u.state().Host.Dir, p.session, p.all).rows(width)[1:]
	if left := len(rows) - limit; left > 0 { // the head has the call, the end has the reason
		first := terminal.Clip(terminal.Plain("  … the question above has the rest", faint()), width)
		rows = append([]terminal.Line{first}, rows[left+1:]...)
	}
	return rows
}
