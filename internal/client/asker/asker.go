package asker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
)

// answerTimeout bounds an answer that is written down, and with one that ends
// the turn, the turn's end (C9).
const answerTimeout = 5 * time.Second

// Session is the session whose approvals are asked.
type Session interface {
	ID() string
	View(func(event.State))
	Answer(ctx context.Context, a settle.Answer) error
}

// Question is a tool call that waits for an approval.
type Question struct {
	event.ApprovalRequested
	// Turn and Item are the call's, or of the call that started the child in the
	// background that asks, which is over. At is when it began to wait.
	Turn, Item string
	At         time.Time
}

// Answer is the client's answer: the verdict and a message for the model. Policy names the
// policy that answered if no client was asked.
type Answer struct {
	Verdict event.Verdict
	Message string
	Explain bool // denied until the model has explained the effects
	Policy  string
	// Arguments replace the arguments of the call; empty for no change.
	Arguments string
	// Permission is as in [settle.Answer].
	Permission string
	// Content are the values of a form.
	Content json.RawMessage
}

// SentQuestion is a question that the client has received.
type SentQuestion interface {
	// Await returns the client's answer. ctx ends with the question. An error
	// denies the call, with its text for the model, unless it is [ErrGone].
	Await(ctx context.Context) (Answer, error)
	// Withdraw is called at the end of the approval, in the order of the events, even if the client
	// has answered.
	Withdraw()
}

// ErrGone reports that the client is gone, which ends the turn without an answer.
var ErrGone = errors.New("the client is gone")

// Await is a [SentQuestion] whose withdrawal has no effect.
type Await func(ctx context.Context) (Answer, error)

// Await implements [SentQuestion].
func (f Await) Await(ctx context.Context) (Answer, error) { return f(ctx) }

// Withdraw implements [SentQuestion].
func (Await) Withdraw() {}

// Nobody is the answer of a policy if no client can be asked. The model reads why.
func Nobody(policy, why string) SentQuestion {
	return Await(func(context.Context) (Answer, error) {
		return Answer{Verdict: event.Denied, Policy: policy, Message: why}, nil
	})
}

// Options configure an Asker.
type Options struct {
	Session Session
	// Ask puts a question to the client. It does not wait for the answer. nil
	// leaves the question to others.
	Ask func(ctx context.Context, q Question) SentQuestion
	// Fill has the client's user fill in the question's form; nil declines, since the client does
	// not support forms.
	Fill func(ctx context.Context, q Question) SentQuestion
	// By names the answering client, for the log.
	By func() string
	// Claims, if set, is shared by all clients that can follow one turn.
	Claims *Claims
	// Failed, if set, receives the error of an answer that the session did not accept.
	Failed func(error)
}

// Asker asks about the calls of a session. Its methods are for the goroutine
// that follows the events, except Deny.
type Asker struct {
	Options

	life context.Context // of questions
	end  context.CancelFunc
	busy sync.WaitGroup

	mu   sync.Mutex // guards the fields below
	open map[string]asking
}

// asking is a question that has not ended.
type asking struct {
	question SentQuestion
	end      context.CancelFunc
}

// New returns an asker, whose questions end with ctx. The caller closes it.
func New(ctx context.Context, o Options) *Asker {
	a := &Asker{Options: o, open: map[string]asking{}}
	a.life, a.end = context.WithCancel(ctx)
	return a
}

// Take asks the question of an approval's event, or ends it.
func (a *Asker) Take(e event.Event) {
	switch d := e.Data.(type) {
	case event.ApprovalRequested:
		a.ask(a.question(d, e))
	case event.ApprovalEnded:
		a.Claims.drop(a.Session.ID(), d.Approval)
		a.mu.Lock()
		q, ok := a.open[d.Approval]
		delete(a.open, d.Approval)
		a.mu.Unlock()
		if ok {
			q.question.Withdraw()
			q.end()
		}
	}
}

// question is about the call of the event; of a child in the background, about the
// call that started it.
func (a *Asker) question(d event.ApprovalRequested, e event.Event) Question {
	q := Question{d, e.Turn, e.Item, e.At}
	if e.Turn != "" {
		return q
	}
	a.Session.View(func(s event.State) {
		if c := s.Child(d.Child); c != nil {
			q.Item = c.Call
		}
		for _, t := range s.Turns {
			if t.Item(q.Item) != nil {
				q.Turn = t.ID
			}
		}
	})
	return q
}

// ask puts the question, unless it has been answered: by a policy, or since the
// events are gone through a second time.
func (a *Asker) ask(q Question) {
	if !isOpen(a.Session, q.Approval) || !a.Claims.take(a.Session.ID(), q.Approval) {
		return
	}
	ctx, end := context.WithCancel(a.life)
	sent := a.put(ctx, q)
	if sent == nil {
		a.Claims.drop(a.Session.ID(), q.Approval)
		end()
		return
	}
	a.mu.Lock()
	a.open[q.Approval] = asking{sent, end}
	a.mu.Unlock()
	a.busy.Go(scope.Shield(func(err error) { a.failed(err) }, func() { // Close ends it, and waits for it
		defer end()
		var answer Answer
		err := scope.Guard(func() (err error) { answer, err = sent.Await(ctx); return err })
		switch {
		case ctx.Err() != nil, errors.Is(err, ErrGone):
			return
		case err != nil:
			answer = Answer{Verdict: event.Denied, Message: fmt.Sprintf("The client could not ask: %v", err)}
		}
		err = a.give(q.Approval, answer)
		// the form does not accept the values, and the question would wait forever
		if err != nil && q.Form != nil && answer.Verdict == event.Approved {
			_ = a.give(q.Approval, Answer{
				Verdict: event.Denied, Policy: policyMisfit, Message: "the answer does not fit the form: " + err.Error(),
			})
		}
	}))
}

// failed reports an error of the callback that asked the client.
func (a *Asker) failed(err error) {
	if a.Failed != nil {
		a.Failed(err)
	}
}

// policyMisfit names the policy that declines a form whose values do not fit.
const policyMisfit = "answer does not fit"

// policyForms names the policy that declines forms where the client has none (C16).
const policyForms = "no forms"

// put puts the question to the client.
func (a *Asker) put(ctx context.Context, q Question) SentQuestion {
	switch {
	case q.Form == nil:
		return a.Ask(ctx, q)
	case a.Fill == nil:
		return NoForms()
	}
	return a.Fill(ctx, q)
}

// NoForms is the answer where the client cannot show a form.
func NoForms() SentQuestion { return Nobody(policyForms, "the client has no forms") }

// give gives the answer. One that comes too late runs nothing.
func (a *Asker) give(approval string, answer Answer) error {
	// The question does not bound its answer: an answer that ends the turn also ends the
	// question.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.life), answerTimeout)
	defer cancel()
	err := a.Session.Answer(ctx, settle.Answer{
		Approval:  approval,
		Verdict:   answer.Verdict,
		Message:   answer.Message,
		Explain:   answer.Explain,
		Policy:    answer.Policy,
		Arguments: answer.Arguments, Permission: answer.Permission,
		By:      a.By(),
		Content: answer.Content,
	})
	var late *settle.AnsweredError
	if err == nil || errors.As(err, &late) || errors.Is(err, settle.ErrClosed) {
		return nil
	}
	if a.Failed != nil {
		a.Failed(err)
	}
	return err
}

// Deny answers all open questions by a policy.
func (a *Asker) Deny(policy, why string) {
	a.mu.Lock()
	var open []string
	for approval := range a.open {
		open = append(open, approval)
	}
	a.mu.Unlock()
	for _, approval := range open {
		_ = a.give(approval, Answer{Verdict: event.Denied, Policy: policy, Message: why})
	}
}

// Close ends all questions, and returns when no goroutine waits for an answer.
func (a *Asker) Close() {
	a.end()
	a.busy.Wait()
}

// Open returns the approvals that the session waits for: first the approvals of the running
// turn in the order of the requests, then the approvals of background child agents.
func Open(s event.State) []*event.Approval { return s.OpenApprovals() }

func isOpen(s Session, approval string) (open bool) {
	s.View(func(state event.State) {
		for _, a := range Open(state) {
			open = open || a.Approval == approval
		}
	})
	return open
}

// Claims holds the questions that a caller has claimed. The zero value is ready to use. A
// nil *Claims leaves every question unclaimed.
type Claims struct {
	mu  sync.Mutex // guards who
	who map[string]struct{}
}

func (c *Claims) take(session, approval string) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := session + " " + approval
	if _, claimed := c.who[key]; claimed {
		return false
	}
	if c.who == nil {
		c.who = map[string]struct{}{}
	}
	c.who[key] = struct{}{}
	return true
}

func (c *Claims) drop(session, approval string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.who, session+" "+approval)
}
