package session_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool"
)

// reviewed is a judge that leaves every call to the reviewer.
type reviewed struct {
	isPending
	later      *approval.Judgement // of later judgements
	moves      bool                // the paths lead elsewhere at every judgement
	judgements int
}

func (r *reviewed) Judge(call approval.Call) approval.Judgement {
	if r.judgements++; r.judgements > 1 && r.later != nil {
		return *r.later
	}
	j := r.isPending.Judge(call)
	j.Review = true
	if r.moves {
		j.Places = []event.ResolvedPath{{Path: strings.Repeat("x", r.judgements)}}
	}
	return j
}

// jury is a reviewer with one verdict.
type jury struct {
	verdict  approval.Review
	err      error
	stalls   bool // until its context ends
	deaf     bool // ignores its context as well, for an hour
	mu       sync.Mutex
	requests []approval.ReviewRequest
}

func (*jury) Model() string          { return "jury/one" }
func (*jury) Timeout() time.Duration { return 30 * time.Second }

func (j *jury) Review(ctx context.Context, r approval.ReviewRequest) (approval.Review, error) {
	j.mu.Lock()
	j.requests = append(j.requests, r)
	j.mu.Unlock()
	switch {
	case j.deaf:
		time.Sleep(time.Hour)
	case j.stalls:
		<-ctx.Done()
		return j.verdict, ctx.Err()
	}
	return j.verdict, j.err
}

// openReviewed opens a session with a reviewer, in which a person can answer or nobody can.
func openReviewed(t *testing.T, j *jury, attended bool) (*bench, *journal.Log, *[]tool.Call) {
	t.Helper()
	return openJudged(t, &reviewed{isPending: isPending{remembered: map[string]bool{}}}, j, attended)
}

// openJudged is openReviewed with a judge.
func openJudged(t *testing.T, judge *reviewed, j *jury, attended bool) (*bench, *journal.Log, *[]tool.Call) {
	t.Helper()
	var ran []tool.Call
	looks := recorder{call("look", 0), &ran}
	set, err := tool.NewSet(looks)
	if err != nil {
		t.Fatal(err)
	}
	log := journal.NewMemory("s")
	approvals := session.NewApprovals(log, judge, nil).WithReviewer(j)
	c := session.Config{
		Log: log, Opened: event.SessionOpened{Dir: "/work"},
		Turn: turn.Config{
			Requests:  turn.Requests{Model: model.Config{Provider: look()}},
			Execution: turn.Execution{Tools: set, Dir: "/work", Approver: approvals.Unattended()},
		},
	}
	if attended {
		c.Approvals, c.Turn.Approver = approvals, approvals
	}
	s, err := session.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background(), "", "test"); err != nil {
			t.Error(err)
		}
	})
	return &bench{t: t, Session: s}, log, &ran
}

// recorder keeps the calls that ran.
type recorder struct {
	tool.Tool
	ran *[]tool.Call
}

func (r recorder) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	*r.ran = append(*r.ran, c) // one call at a time
	return r.Tool.Run(ctx, c)
}

// reviews returns the ends of the reviews of the first turn.
func (b *bench) reviews() (ends []event.HookEnded) {
	for _, h := range b.state().Turns[0].Hooks {
		if h.Event == event.HookReview && h.Ended != nil {
			ends = append(ends, *h.Ended)
		}
	}
	return ends
}

func TestReviewAllowsOrAsks(t *testing.T) {
	usage := &event.Usage{Input: 100, Output: 10}
	harmless := approval.Review{Allow: true, Reason: "harmless", Usage: usage}
	odd := approval.Review{Reason: "odd", Usage: usage}
	for name, tt := range map[string]struct {
		jury     *jury
		attended bool
		runs     int           // calls that ran without a person
		outcome  event.Outcome // of the first review
		decision event.Permission
		reason   string
	}{
		"allows":             {&jury{verdict: harmless}, true, 2, event.Completed, event.Allow, "harmless"},
		"allows, no person":  {&jury{verdict: harmless}, false, 2, event.Completed, event.Allow, "harmless"},
		"asks":               {&jury{verdict: odd}, true, 0, event.Completed, event.Ask, "odd"},
		"asks, no person":    {&jury{verdict: odd}, false, 0, event.Completed, event.Ask, "odd"},
		"fails":              {&jury{err: errors.New("no server")}, true, 0, event.Failed, event.Ask, "no server"},
		"allows, but failed": {&jury{verdict: approval.Review{Allow: true}, err: errors.New("cut")}, true, 0, event.Failed, event.Ask, "cut"},
		"stalls":             {&jury{stalls: true}, true, 0, event.Failed, event.Ask, "no verdict within 30s"},
		"deaf":               {&jury{deaf: true}, true, 0, event.Failed, event.Ask, "no verdict within 30s"},
	} {
		bubble(t, name, func(t *testing.T) {
			b, log, ran := openReviewed(t, tt.jury, tt.attended)
			b.submit("look at it", "")
			time.Sleep(time.Minute)
			synctest.Wait()
			ends := b.reviews()
			if len(ends) == 0 || ends[0].Outcome != tt.outcome || ends[0].Decision != tt.decision ||
				!strings.Contains(ends[0].Reason, tt.reason) {
				t.Fatalf("reviews: %+v", ends)
			}
			if len(*ran) != tt.runs {
				t.Errorf("%d calls ran without a person, want %d", len(*ran), tt.runs)
			}
			waits := b.state().OpenApprovals()
			if tt.attended && tt.runs == 0 {
				if len(waits) != 1 || !strings.Contains(waits[0].Review, tt.reason) {
					t.Fatalf("the person is asked %+v", waits)
				}
				if err := b.Answer(t.Context(), answer(waits[0].Approval, event.ApprovalAborted, "user")); err != nil {
					t.Fatal(err)
				}
			} else if len(waits) > 0 {
				t.Errorf("a person is asked: %+v", waits)
			}
			time.Sleep(2 * time.Hour) // a deaf reviewer
			synctest.Wait()
			if b.state().Running() != nil {
				t.Fatal("the turn has not ended")
			}
			if got := tt.jury.requests[0]; got.Prompts[0] != "look at it" || got.Dir != "/work" || got.Text == "" {
				t.Errorf("the reviewer received %+v", got)
			}
			if n := len(ends); tt.jury.verdict.Usage != nil && b.state().Turns[0].Summary.Usage.Input < int64(n)*100 {
				t.Errorf("the turn's usage lacks the reviews: %+v", b.state().Turns[0].Summary)
			}
			checkContract(t, log)
		})
	}
}

// checkContract checks the whole log.
func checkContract(t *testing.T, log *journal.Log) {
	t.Helper()
	var events []event.Event
	var last uint64
	log.View(func(s event.State) { last = s.Seq })
	for e, err := range log.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if events = append(events, e); e.Seq == last {
			break
		}
	}
	if err := (contract.Checker{Unfinished: true}).Check(events); err != nil {
		t.Error(err)
	}
}

// A verdict about an earlier mode, other paths or another sandbox runs nothing.
func TestReviewEndsWithItsJudgement(t *testing.T) {
	ask := approval.Judgement{Decision: event.Ask, Why: "it changes something", Review: true}
	person, sandboxed, elsewhere := ask, ask, ask
	person.Review, sandboxed.Sandbox = false, event.Workspace
	elsewhere.Places = []event.ResolvedPath{{Path: "/elsewhere"}}
	read := approval.Judgement{Decision: event.Deny, Rule: "plan mode", Why: "it changes something"}
	for name, tt := range map[string]struct {
		later    approval.Judgement // of all judgements after the first one
		attended bool
		runs     int // of two calls
	}{
		"read-only":           {read, true, 0},
		"read-only, nobody":   {read, false, 0},
		"a person decides":    {person, true, 0},
		"a person, nobody":    {person, false, 0},
		"sandbox":             {sandboxed, true, 2}, // reviewed again
		"sandbox, nobody":     {sandboxed, false, 1},
		"other file, nobody":  {elsewhere, false, 1},
		"allowed":             {approval.Judgement{Decision: event.Allow}, true, 2},
		"allowed, but nobody": {approval.Judgement{Decision: event.Allow}, false, 2},
	} {
		bubble(t, name, func(t *testing.T) {
			judge := &reviewed{isPending: isPending{remembered: map[string]bool{}}, later: &tt.later}
			b, log, ran := openJudged(t, judge, &jury{verdict: approval.Review{Allow: true}}, tt.attended)
			b.submit("look at it", "")
			time.Sleep(time.Minute)
			synctest.Wait()
			if len(b.reviews()) == 0 || len(*ran) != tt.runs {
				t.Errorf("%d calls ran after %d reviews", len(*ran), len(b.reviews()))
			}
			for _, open := range b.state().OpenApprovals() {
				if err := b.Answer(t.Context(), answer(open.Approval, event.ApprovalAborted, "user")); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			if b.state().Running() != nil {
				t.Fatal("the turn has not ended")
			}
			checkContract(t, log)
		})
	}
}

// If the paths change during each review, a person is asked; only approvals of a person count as
// approvals that came too late.
func TestChangesDuringReviewsAskPerson(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		judge := &reviewed{isPending: isPending{remembered: map[string]bool{}}, moves: true}
		b, log, ran := openJudged(t, judge, &jury{verdict: approval.Review{Allow: true}}, true)
		b.submit("look at it", "")
		time.Sleep(time.Minute)
		synctest.Wait()
		waits := b.state().OpenApprovals()
		if len(waits) != 1 || len(b.reviews()) > 2 || len(*ran) > 0 {
			t.Fatalf("after %d reviews, %d calls ran and a person is asked %+v", len(b.reviews()), len(*ran), waits)
		}
		if err := b.Answer(t.Context(), answer(waits[0].Approval, event.ApprovalAborted, "user")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		checkContract(t, log)
	})
}

// An ended review has its usage in the log, if the reviewer still states it.
func TestEndedReviewHasUsage(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		stalls := &jury{stalls: true, verdict: approval.Review{Allow: true, Usage: &event.Usage{Input: 100}}}
		b, log, ran := openReviewed(t, stalls, true)
		b.submit("look", "")
		time.Sleep(time.Minute) // the review of the first call is late, and a person is asked
		synctest.Wait()
		waits := b.state().OpenApprovals()
		if len(waits) != 1 {
			t.Fatalf("a person is asked %+v", waits)
		}
		if err := b.Answer(t.Context(), answer(waits[0].Approval, event.Denied, "user")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if _, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ends := b.reviews()
		if len(ends) != 2 || ends[0].Outcome != event.Failed || ends[1].Outcome != event.Aborted ||
			ends[0].Usage == nil || ends[1].Usage == nil || len(*ran) > 0 {
			t.Errorf("reviews %+v, and %d calls ran", ends, len(*ran))
		}
		if got := b.state().Turns[0].Summary.Usage.Input; got < 200 {
			t.Errorf("the turn has %d tokens of the reviews", got)
		}
		checkContract(t, log)
	})
}

// An interrupt ends a review at once, and the call never runs.
func TestInterruptEndsReview(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		b, log, ran := openReviewed(t, &jury{deaf: true, verdict: approval.Review{Allow: true}}, true)
		b.submit("look", "")
		time.Sleep(time.Second)
		synctest.Wait()
		began := time.Now()
		if _, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 600*time.Millisecond { // C9
			t.Errorf("the interrupt took %v", took)
		}
		time.Sleep(2 * time.Hour) // the late verdict allows
		synctest.Wait()
		if ends := b.reviews(); len(ends) != 1 || ends[0].Outcome != event.Aborted || len(*ran) > 0 {
			t.Errorf("reviews %+v, and %d calls ran", ends, len(*ran))
		}
		checkContract(t, log)
	})
}
