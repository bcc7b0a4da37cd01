package tui

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// plain is the frontend for screen readers, and for terminals without cursor movement:
// labelled lines written once, numbered choices, no clock.
type plain struct {
	Options
	ctx   context.Context // RunPlain's own
	in    io.Reader
	out   io.Writer
	width int

	conversation Conversation
	log          *transcript.Transcript
	printout     *printout
	feed         *feed
	label        group
	approvalID   string          // the approval that the choices are for
	answered     map[string]bool // approvals that were answered here
	entry        *asker.Entry    // of its form; nil while none is filled in
	instead      bool            // the next line is what the model should do instead
	code         int
	done         bool
	lost         bool // the session ended, and this terminal did not close it

	fetching *fetch      // a prompt of a server; nil for none
	fetched  chan func() // the result of a fetch; room for one
}

// RunPlain shows the session as lines until the input ends, the person quits or a
// stop comes; then it ends everything and returns the exit code.
func RunPlain(ctx context.Context, in io.Reader, out io.Writer, width int, o Options) (code int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &plain{
		Options: o, ctx: ctx, in: in, out: out, width: width, printout: newPrintout(o.Keys), feed: newFeed(),
		fetched: make(chan func(), 1), answered: map[string]bool{},
	}
	p.printout.answered = func(approval string) bool { return p.answered[approval] }
	p.printout.closing = true // each call is written when it has ended
	opening, opened := context.WithTimeout(ctx, actTimeout)
	p.conversation, err = o.Sessions.Open(opening, o.Session)
	opened()
	if err != nil {
		return stdio.CodeUsage, err
	}
	state := p.conversation.State()
	p.log = transcript.New(state, transcript.Live)
	go p.feed.run(ctx, p.conversation, state.Seq) // ends with ctx
	p.printf("settle with %s in %s. /help lists commands.", p.conversation.Model(), p.placeIn(state))
	if p.Imported != nil && hostOf(p.conversation) == "" {
		if line := p.Imported(); line != "" {
			p.printf("Imported %s. In a shell, settle doctor says more.", line)
		}
	}
	if host := hostOf(p.conversation); host != "" {
		p.printf("Attached to %s: what you do here happens there, and /quit ends nothing.", host)
	}
	if note := noteOf(p.conversation); note != "" {
		p.printf("%s.", note)
	}
	if t := state.Running(); t != nil {
		p.printout.resume(t, p.log)
	} else if n := len(state.Turns); n > 0 {
		p.printLastAnswer(state.Turns[n-1], n)
	}
	var held []event.HeldCall
	if state.Running() == nil {
		held = state.HeldCalls()
	}
	for _, a := range questionsOf(held) {
		p.printout.ask(a, state.Host.Dir)
	}
	p.showFinished()
	if n := len(held); n > 0 {
		p.printf("%s when settle stopped: \"settle approvals\" answers.", terminal.Count(n, "call")+" waited for you")
	}
	p.ask()
	if o.Prompt != "" {
		p.prompt(o.Prompt)
	}
	p.loop()
	closing, closed := context.WithTimeout(context.WithoutCancel(ctx), closeTimeoutOf(state))
	defer closed()
	if err := o.Sessions.Close(closing, p.conversation, event.Shutdown, user); err != nil {
		p.printf("%v", err)
	}
	select {
	case <-p.feed.done:
	case <-closing.Done():
	}
	p.follow() // the rest of the log
	host := elsewhere(p.conversation, p.lost)
	if host != "" {
		p.printf("The session continues in %s.", host)
	}
	if o.Resume != nil && (host != "" || len(p.log.State().Turns) > 0) {
		p.printf("Continue with: %s", o.Resume(p.conversation.ID(), host != ""))
	}
	return p.code, nil
}

func (p *plain) loop() {
	lines := make(chan string)
	go func() { // ends with the input, or with the process: a read of a terminal cannot be ended
		defer close(lines)
		scanner := bufio.NewScanner(p.in)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-p.ctx.Done():
				return
			}
		}
	}()
	for !p.done {
		select {
		case line, more := <-lines:
			if !more {
				return
			}
			p.line(line)
		case <-p.feed.kick:
			p.follow()
		case <-p.feed.done:
			p.follow()
			p.code, p.lost, p.done = lostCode(p.log.State()), true, true
			p.printf("%s.", endText(p.conversation, p.log.State()))
		case do := <-p.fetched:
			do()
		case stop := <-p.Stops:
			p.stop(stop)
		case <-p.ctx.Done():
			return
		}
	}
}

// printLastAnswer prints the last answer of a session with a number of turns, or how its last turn
// ended without one.
func (p *plain) printLastAnswer(last *event.Turn, turns int) {
	count := terminal.Count(turns, "turn")
	if answer := last.Answer(); answer != "" || last.Cause.Outcome == event.Completed {
		p.printf("The session has %s. The last answer was:", count)
		p.printf("%s", answer)
		return
	}
	p.printf("The session has %s. The last one ended without an answer: %s.", count, terminal.OneLine(last.Cause.Error()))
}

// printf writes a line of settle's own.
func (p *plain) printf(format string, args ...any) {
	p.write(terminal.Plain(strings.TrimRight(fmt.Sprintf(format, args...), "\n"), terminal.Style{}).Text())
}

func (p *plain) write(line string) { _, _ = io.WriteString(p.out, line+"\n") } // a terminal that is gone ends the input

// line is a prompt, an answer or a command. A prompt can begin with a space and a slash.
func (p *plain) line(raw string) {
	text := strings.TrimSpace(raw)
	command, argument, ok := p.commandOf(raw)
	switch {
	case text == "" && p.entry == nil && !p.instead:
	case p.approvalID != "" && (p.entry != nil || p.instead || !ok || command.name == "decline"):
		p.answer(text)
	case ok:
		command.run(p, argument)
	case p.fetching != nil:
		p.printf("Not sent: waiting for %s. /stop cancels it.", terminal.Short(p.fetching.text, maxHelp))
	case strings.HasPrefix(text, "/") && !strings.HasPrefix(raw, "/"):
		p.submit(text)
	case !p.refused(text):
		p.prompt(text)
	}
}

// prompt sends a prompt, or its expansion.
func (p *plain) prompt(text string) {
	if p.fetches(p.conversation, text) {
		p.fetch(text)
		return
	}
	stands, err := p.expanded(text)
	if err != nil {
		p.printf("Not sent: %v", err)
		return
	}
	p.submit(stands)
}

// fetch sends the expansion of an MCP prompt once the server has answered.
func (p *plain) fetch(text string) {
	one, send := newFetch(p.conversation, text)
	p.fetching = one
	p.printf("Waiting for the MCP server. /stop cancels.")
	go func() { // ends with the answer of the server, with an interrupt, or with the session
		err := send(p.ctx)
		p.fetched <- func() { // room for one, and there is one fetch at a time
			if p.fetching = nil; err != nil {
				p.printf("Not sent: %v", err)
			}
		}
	}()
}

func (p *plain) submit(text string) {
	ctx, cancel := context.WithTimeout(p.ctx, actTimeout)
	defer cancel()
	text, options := optionsOf(text)
	if _, err := p.conversation.Submit(ctx, text, options...); err != nil {
		p.printf("Not sent: %v", err)
	}
}

// stop handles Ctrl-C, which interrupts a running turn, and signals that end the session.
func (p *plain) stop(s stdio.Stop) {
	if s.Reason == event.Interrupted && (p.log.State().Running() != nil || p.fetching != nil && !p.fetching.givenUp) {
		p.interrupt()
		return
	}
	if p.done = true; s.Reason != event.Interrupted {
		p.code = s.Code
	}
}

func (p *plain) interrupt() {
	t := p.log.State().Running()
	if p.fetching != nil {
		p.fetching.giveUp(p.ctx, p.conversation)
		if t == nil {
			return
		}
	}
	if t == nil {
		p.printf("Nothing runs.")
		return
	}
	p.printf("Interrupting.")
	c, input := p.conversation, firstInput(t)
	go func() { // ends with the turn, which ends in time (C9)
		_, _ = c.Interrupt(p.ctx, settle.Interruption{By: user, Input: input}) // the log records how the turn ended
	}()
}

func (p *plain) follow() {
	events, err := p.feed.take()
	for _, e := range events {
		changes, err := p.log.Take(e)
		if err != nil {
			p.printf("%v", err)
			p.done = true
			return
		}
		for _, c := range changes {
			p.printout.take(c)
		}
		p.showFinished()
		p.ask()
	}
	if err != nil {
		p.printf("Cannot read the session any more: %v", err)
		p.done = true
	}
}

// labels are the headings of groups.
func labels() map[group]string {
	return map[group]string{
		ofMessage: "Answer:", ofThought: "Thought:", ofCall: "Call:", ofNotice: "Note:", ofAsk: "Question:",
		ofEnding: "Turn:",
	}
}

func (p *plain) showFinished() {
	p.printout.askFirst(p.log.State())
	for _, entry := range p.printout.finished() {
		p.show(entry)
	}
}

// show writes an entry, except inputs, which the person sees already.
func (p *plain) show(e entry) {
	if e.group == ofInput {
		p.label = e.group
		return
	}
	if label := labels()[e.group]; e.group != p.label || e.group == ofAsk {
		p.write(label)
		p.label = e.group
	}
	for n, row := range e.rows(p.width) {
		text := strings.TrimRight(row.Text(), " ")
		if n == 0 {
			text = spokenText(text)
		}
		p.write(text)
	}
}

// spokenText has words for the marks.
func spokenText(text string) string {
	for mark, words := range map[string]string{
		"✓ ": "done: ", "✗ ": "failed: ", "■ ": "stopped: ", "✻ ": "", "· ": "", "? ": "",
	} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			return words + rest
		}
	}
	return text
}

// ask puts the question that waits longest, and notices when it is over.
func (p *plain) ask() {
	approvals := openQuestions(p.log.State())
	if len(approvals) == 0 {
		p.approvalID, p.instead = "", false
		return
	}
	first := approvals[0]
	if p.approvalID == first.Approval {
		return
	}
	p.approvalID = first.Approval
	p.entry, p.instead = nil, false
	if first.Form != nil && len(first.Form.Questions) > 0 {
		p.entry, _ = asker.NewEntry(*first.Form) // questions are always fields
		p.printf("%s. %s /decline declines.", asker.Headline(first.ApprovalRequested), p.entry.Prompt())
		return
	}
	question := "Allow " + first.Title + "?"
	switch {
	case first.Form != nil:
		question = asker.Headline(first.ApprovalRequested) + "."
	case asker.IsPlan(first.ApprovalRequested):
		question = asker.Headline(first.ApprovalRequested)
	}
	p.printf("%s %s.", question, spoken(p.choices()))
}

// spoken are the choices in one line.
func spoken(choices []asker.Choice) string {
	var all []string
	for _, c := range choices {
		all = append(all, c.String())
	}
	return strings.Join(all, ". ")
}

// choices are the answers to the question that waits.
func (p *plain) choices() []asker.Choice {
	// without a running turn, a child in the background asks
	return asker.Choices(p.pendingRequest(), p.log.State().Running() != nil)
}

func (p *plain) answer(text string) {
	if text == "/stop" {
		p.interrupt()
		return
	}
	answer := settle.Answer{Approval: p.approvalID, By: user}
	if p.entry != nil && text == "/decline" {
		answer.Verdict = event.Denied
		p.give(answer)
		return
	}
	if p.instead {
		if p.instead = false; text != "" {
			answer.Verdict, answer.Message = event.Denied, text
			p.give(answer)
		}
		return
	}
	choices := p.choices()
	choice, words, ok := asker.Choose(choices, text)
	if form := p.formAsked(); form != nil && choice.Action == keymap.AllowOnce || p.entry != nil {
		if content, done := p.fill(form, text); done {
			answer.Verdict, answer.Content = event.Approved, content
			p.give(answer)
		}
		return
	}
	switch {
	case ok && choice.Action == keymap.Interrupt:
		p.interrupt()
		return
	case ok && choice.NeedsWords() && words == "":
		p.instead = true
		p.printf("What should the model do instead? The next line is for it.")
		return
	case !ok:
		p.printf("%s", p.unclear(choices, text))
		return
	}
	got := choice.Answer(words)
	answer.Verdict, answer.Message, answer.Explain, answer.Permission = got.Verdict, got.Message, got.Explain,
		got.Permission
	p.give(answer)
}

// unclear says which answers there are.
func (p *plain) unclear(choices []asker.Choice, text string) string {
	var numbers []string
	for _, c := range choices {
		numbers = append(numbers, fmt.Sprint(c.Number))
	}
	last := len(numbers) - 1
	words := strings.Join(numbers[:last], ", ") + " or " + numbers[last] + "?"
	every := asker.Choices(event.ApprovalRequested{}, false)
	if c, _, ok := asker.Choose(every, text); ok && c.Action == keymap.AllowSession && p.pendingRequest().Once {
		words += " This call can be allowed only once."
	}
	return words
}

// pendingRequest returns the question that waits; the zero request if it has ended.
func (p *plain) pendingRequest() event.ApprovalRequested {
	for _, a := range p.log.State().OpenApprovals() {
		if a.Approval == p.approvalID {
			return a.ApprovalRequested
		}
	}
	return event.ApprovalRequested{}
}

// give gives the answer.
func (p *plain) give(answer settle.Answer) {
	p.entry = nil
	p.answered[answer.Approval] = true
	ctx, cancel := context.WithTimeout(p.ctx, actTimeout)
	defer cancel()
	if err := p.conversation.Answer(ctx, answer); err != nil {
		p.printf("%v", err)
	}
}
