package run

import (
	"bufio"
	"context"
	"io"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/toolview"

	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// terminalUser answers at the terminal.
const terminalUser = "user"

// person is the person at the terminal. settle asks them about calls, one after the other.
type person struct {
	view *textView
	in   io.Reader
	// forget, if set, discards keys typed before the question.
	forget func()

	last *question // that was asked; for the goroutine that follows the events
	// lastEnd is the end of an approval that was shown last; for the same goroutine.
	lastEnd event.ApprovalEnded
	// typed lines, closed at the end of input; nil before the first question; read by the asking goroutine
	lines chan string
}

// question is an approval request. It is shown when all earlier questions have ended.
type question struct {
	*person
	request   event.ApprovalRequested
	before    *question
	ended     chan struct{} // closed when no question is open
	withdrawn chan struct{} // closed when the approval has ended
	why       string        // set before withdrawn is closed
	entry     *asker.Entry  // the form being filled in; nil before that
	instead   bool          // the next line is what the model should do instead
}

// ask queues a question behind earlier ones.
func (p *person) ask(_ context.Context, q asker.Question) asker.SentQuestion {
	p.last = &question{
		person: p, request: q.ApprovalRequested, before: p.last, ended: make(chan struct{}),
		withdrawn: make(chan struct{}),
	}
	return p.last
}

// Withdraw implements [asker.SentQuestion].
func (q *question) Withdraw() {
	q.why = "this approval is no longer needed"
	switch d := q.person.lastEnd; {
	case d.Approval != q.request.Approval:
	case d.Verdict == event.Expired: // the end of its turn reports the outcome of the call
		q.why = "the question has ended with its turn"
	default:
		q.why = "answered elsewhere: " + d.Past()
	}
	close(q.withdrawn)
}

// Await shows the question and waits for its answer, or for the end of the
// question.
func (q *question) Await(ctx context.Context) (asker.Answer, error) {
	defer close(q.ended)
	for b := q.before; b != nil; b = b.before {
		select {
		case <-b.ended:
		case <-ctx.Done():
			return asker.Answer{}, context.Cause(ctx)
		}
	}
	q.begin()
	defer q.view.endQuestion()
	for {
		select {
		case line, more := <-q.lines:
			q.view.endPromptLine(more)
			if !more {
				return q.inputClosed(), nil
			}
			if answer, done := q.take(line); done {
				return answer, nil
			}
		case <-ctx.Done():
			select {
			case <-q.withdrawn:
				q.view.interruptPrompt(q.why)
			default: // nothing is shown any more
			}
			return asker.Answer{}, context.Cause(ctx)
		}
	}
}

// inputClosed is the answer after the end of the input. The answers that the person gave before count.
func (q *question) inputClosed() asker.Answer {
	form := q.request.Form
	if form == nil {
		q.view.interruptPrompt("nobody answers: denied")
		return asker.Answer{Verdict: event.Denied}
	}
	if q.entry != nil && q.entry.Began() && q.entry.Check() == nil {
		q.view.interruptPrompt("nobody answers the rest: your answers so far are sent")
		return asker.Answer{Verdict: event.Approved, Content: q.entry.Content()}
	}
	words := "nobody answers: declined"
	if len(form.Questions) > 0 {
		words = "nobody answers: the agent continues with its defaults"
	}
	q.view.interruptPrompt(words)
	return asker.Answer{Verdict: event.Denied, Policy: "input closed", Message: "the input has ended"}
}

// choices are the answers that there are. Each has the number and the letter of the terminal.
func (q *question) choices() (all []string) {
	for _, c := range asker.Choices(q.request, true) {
		all = append(all, c.String())
	}
	if asker.IsPlan(q.request) {
		all = append(all, "or say what to change")
	}
	return all
}

// take takes a line, and returns the answer if that is all.
func (q *question) take(line string) (answer asker.Answer, done bool) {
	if q.entry != nil {
		return q.fill(line)
	}
	line = strings.TrimSpace(line)
	if q.instead {
		if q.instead = false; line != "" {
			return asker.Answer{Verdict: event.Denied, Message: line}, true
		}
		q.view.prompt(q.choices()...)
		return answer, false
	}
	form := q.request.Form
	choice, words, ok := asker.Choose(asker.Choices(q.request, true), line)
	switch {
	case ok && choice.NeedsWords() && words == "":
		q.instead = true
		q.view.prompt("what the model should do instead")
		return answer, false
	case ok && choice.Action == keymap.AllowOnce && form != nil && form.URL == "":
		entry, err := asker.NewEntry(*form)
		if err != nil {
			return asker.Answer{Verdict: event.Denied, Message: err.Error()}, true
		}
		q.entry = entry
		return q.next()
	case ok:
		return choice.Answer(words), true
	case asker.IsPlan(q.request) && len(line) >= minChange: // a shorter one is a typing mistake
		return asker.Answer{Verdict: event.Denied, Message: line}, true
	}
	q.view.prompt(q.choices()...)
	return answer, false
}

// minChange is how many bytes a line has that says what to change in a plan.
const minChange = 3

// fill takes the line for the field that was asked for.
func (q *question) fill(line string) (asker.Answer, bool) {
	if strings.TrimSpace(line) == "/decline" {
		return asker.Answer{Verdict: event.Denied}, true
	}
	if err := q.entry.Take(line); err != nil {
		q.view.interruptPrompt(err.Error())
	}
	return q.next()
}

// next asks for the next field. A complete form is checked before it is sent.
func (q *question) next() (asker.Answer, bool) {
	if prompt := q.entry.Prompt(); prompt != "" {
		q.view.prompt(terminal.OneLine(prompt))
		return asker.Answer{}, false
	}
	if err := q.entry.Check(); err != nil {
		q.view.interruptPrompt(err.Error())
		q.entry = nil
		q.view.prompt(q.choices()...)
		return asker.Answer{}, false
	}
	return asker.Answer{Verdict: event.Approved, Content: q.entry.Content()}, true
}

// begin shows the whole question. Keys typed earlier do not answer it.
func (q *question) begin() {
	if q.forget != nil {
		q.forget()
	}
	if q.lines == nil {
		q.lines = make(chan string)
		go q.read() // ends with the input, or with the process: a read of a terminal cannot be ended
	}
	for stale := true; stale; {
		select {
		case _, stale = <-q.lines:
		default:
			stale = false
		}
	}
	q.view.question(q.request)
	if form := q.request.Form; form != nil && len(form.Questions) > 0 {
		q.view.interruptPrompt("Enter takes the default; /decline declines")
		q.entry, _ = asker.NewEntry(*form) // questions are always fields
		q.next()
		return
	}
	q.view.prompt(q.choices()...)
}

func (p *person) read() {
	defer close(p.lines)
	lines := bufio.NewScanner(p.in)
	for lines.Scan() {
		p.lines <- lines.Text() // taken by the next question; else the process ends
	}
}

// endPromptLine records that the person, or the end of input, has ended the prompt's line.
func (s *textView) endPromptLine(line bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line {
		s.prompted = ""
	}
}

// question shows a question. The status stays hidden until endQuestion.
func (s *textView) question(q event.ApprovalRequested) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.questionOpen = true
	for _, edit := range s.edits {
		edit.shown = edit.shown || edit.approval == q.Approval
	}
	s.put(s.styled(color(terminal.Yellow), asker.Fold(asker.Headline(q), s.width())))
	isEdit := toolview.KindOf(q.Tool) == toolview.Edit
	for line := range strings.SplitSeq(terminal.Text(asker.Words(q)), "\n") {
		text := asker.Fold("  "+line, s.width())
		if diff := strings.TrimLeft(line, " "); isEdit && len(line)-len(diff) >= minDiffIndent && diff != "" {
			text = s.styled(diffStyle(diff), text)
		}
		s.put(text)
	}
}

// minDiffIndent is the minimum indentation of the lines of a diff in the words of a question.
const minDiffIndent = 8

// askedEdit has the changes of a call that needs approval, and whether a person saw them.
type askedEdit struct {
	approval string
	changes  []toolview.Change
	shown    bool
}

// noteQuestion notes the changes of a call that needs approval, so that the end of the call does not
// show them again.
func (s *textView) noteQuestion(item string, q event.ApprovalRequested) {
	if s.person == nil || toolview.KindOf(q.Tool) != toolview.Edit || len(q.Detail) == 0 {
		return
	}
	if s.edits == nil {
		s.edits = map[string]*askedEdit{}
	}
	s.edits[item] = &askedEdit{approval: q.Approval, changes: toolview.New(q.Tool, "", "").Changes(q.Detail)}
}

// wereShown reports whether a question of the call has shown the changes, and forgets it.
func (s *textView) wereShown(item string, changes []toolview.Change) bool {
	edit := s.edits[item]
	delete(s.edits, item)
	return edit != nil && edit.shown && toolview.SameChanges(changes, edit.changes)
}

// maxAnswer is the number of columns that a prompt leaves for the answer.
const maxAnswer = 8

// prompt leaves the cursor behind the choices, which have a row each if they do not fit into one.
func (s *textView) prompt(choices ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, width := strings.Join(choices, "   ")+" > ", s.width()
	if width > 0 && terminal.TextWidth(text)+maxAnswer > width {
		text = s.folded(strings.Join(choices, "\n")) + "\n> "
	}
	s.prompted = s.styled(bold(), text)
	s.print(s.err, s.prompted)
}

// put writes a line that is fit for the terminal, and a prompt that is open once
// more below it.
func (s *textView) put(line string) {
	s.erase()
	s.breakLine()
	text := line + "\n"
	if s.prompted != "" {
		text = "\n" + text + s.prompted
	}
	s.print(s.err, text)
}

// interruptPrompt ends the line of a prompt that was not answered.
func (s *textView) interruptPrompt(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leavePrompt()
	s.put(s.folded(text))
}

// leavePrompt ends the line of a prompt that will not be answered.
func (s *textView) leavePrompt() {
	if s.prompted != "" {
		s.prompted = ""
		s.put("")
	}
}

// endQuestion ends the question.
func (s *textView) endQuestion() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.questionOpen, s.prompted = false, ""
}
