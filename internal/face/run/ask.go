package run

import (
	"bufio"
	"context"
	"io"
	"strings"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/printable"
)

// terminalUser answers at the terminal.
const terminalUser = "user"

// asking asks the person at the terminal about calls, one after the other.
//
//	approval.requested ─► queue ─► shown ─► y, s or n ─► answer
//	                        └ approval.ended: nobody is asked any more (C16)
type asking struct {
	screen *screen
	in     io.Reader
	// forget, if set, forgets what was typed before anybody was asked.
	forget func()

	mu    sync.Mutex
	queue []event.ApprovalRequested
	kick  chan struct{} // one token when the queue may have changed
	lines chan string   // what was typed; closed at its end; nil until somebody is asked
}

func newAsking(s *screen, in io.Reader, forget func()) *asking {
	return &asking{screen: s, in: in, forget: forget, kick: make(chan struct{}, 1)}
}

// note takes an event of the session. It does not wait.
func (a *asking) note(e event.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch d := e.Data.(type) {
	case event.ApprovalRequested:
		a.queue = append(a.queue, d)
	case event.ApprovalEnded:
		for i, q := range a.queue {
			if q.Approval == d.Approval {
				a.queue = append(a.queue[:i:i], a.queue[i+1:]...)
				break
			}
		}
	}
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// first returns what is to be asked now.
func (a *asking) first() (event.ApprovalRequested, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		return event.ApprovalRequested{}, false
	}
	return a.queue[0], true
}

func (a *asking) waits(approval string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.queue {
		if q.Approval == approval {
			return true
		}
	}
	return false
}

// run asks until ctx ends.
func (a *asking) run(ctx context.Context, session *settle.Session) {
	for {
		q, waits := a.first()
		if !waits {
			select {
			case <-a.kick:
			case <-ctx.Done():
				return
			}
			continue
		}
		verdict, answered := a.ask(ctx, q)
		if ctx.Err() != nil {
			return
		}
		if answered {
			answer := settle.Answer{Approval: q.Approval, Verdict: verdict, By: terminalUser}
			_ = session.Answer(ctx, answer) // C16: too late, it runs nothing, and the approval's end says so
		}
		a.note(event.Event{Data: event.ApprovalEnded{Approval: q.Approval}})
	}
}

// ask shows a question and waits for its answer, or for the end of the question.
func (a *asking) ask(ctx context.Context, q event.ApprovalRequested) (event.Verdict, bool) {
	a.begin(q)
	defer a.screen.asked()
	for {
		select {
		case line, more := <-a.lines:
			a.screen.entered(more)
			if !more {
				a.screen.tell("nobody answers: denied")
				return event.Denied, true
			}
			switch strings.ToLower(strings.TrimSpace(line)) {
			case "y", "yes":
				return event.Approved, true
			case "s", "session":
				return event.ApprovedSession, true
			case "n", "no":
				return event.Denied, true
			}
			a.screen.prompt(choices)
		case <-a.kick:
			if !a.waits(q.Approval) {
				a.screen.tell("this approval is no longer needed")
				return "", false
			}
		case <-ctx.Done():
			return "", false
		}
	}
}

const choices = "y: yes, once   s: yes, for this session   n: no > "

// begin shows the whole question; what was typed before is no answer to it.
func (a *asking) begin(q event.ApprovalRequested) {
	if a.forget != nil {
		a.forget()
	}
	if a.lines == nil {
		a.lines = make(chan string)
		go a.read() // ends with the input, or with the process: a read of a terminal cannot be ended
	}
	for stale := true; stale; {
		select {
		case _, stale = <-a.lines:
		default:
			stale = false
		}
	}
	a.screen.question(asker.Words(q))
	a.screen.prompt(choices)
}

func (a *asking) read() {
	defer close(a.lines)
	lines := bufio.NewScanner(a.in)
	for lines.Scan() {
		a.lines <- lines.Text() // taken by the next question; else the process ends
	}
}

// entered says that somebody has ended the line of the prompt, or the input.
func (s *screen) entered(line bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line {
		s.prompted = ""
	}
}

// question shows what is asked. Nothing is drawn until asked is called.
func (s *screen) question(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = true
	s.put(s.tty.paint(yellow, "Allow this call?"))
	for line := range strings.SplitSeq(printable.Text(words), "\n") {
		s.put("  " + line)
	}
}

// prompt leaves the cursor behind a text.
func (s *screen) prompt(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompted = s.tty.paint(bold, text)
	s.err.Write(func(b []byte) []byte { return append(b, s.prompted...) })
	s.err.Flush()
}

// around writes a line, and a prompt that is open once more below it.
func (s *screen) around(line string) {
	s.erase()
	s.breakLine()
	text := line + "\n"
	if s.prompted != "" {
		text = "\n" + text + s.prompted
	}
	s.err.Write(func(b []byte) []byte { return append(b, text...) })
}

// tell ends the line of a prompt that was not answered.
func (s *screen) tell(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leavePrompt()
	s.put(text)
}

// leavePrompt ends the line of a prompt that nobody will answer.
func (s *screen) leavePrompt() {
	if s.prompted != "" {
		s.prompted = ""
		s.put("")
	}
}

// asked says that the question is over.
func (s *screen) asked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking, s.prompted = false, ""
}
