package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/question"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool/plan"
)

// Approvals requests approvals through the log: the request and the first answer are events.
// It implements [turn.Approver].
//
//	requested ─► approved | approved_session | denied | aborted   by Answer
//	          └► expired                                          with its turn
type Approvals struct {
	log    *journal.Log
	judge  approval.Judge
	redact *redact.Redactor
	hooks  *hooks.Set
	// reviewer can allow calls before a person is asked; nil for none.
	reviewer approval.Reviewer

	mu      sync.Mutex // guards waiting
	waiting map[string]*scope.Deferred[approval.Answer]
}

// NewApprovals returns the approvals of the log's session. redact masks secrets in the
// requests, and may be nil.
func NewApprovals(log *journal.Log, judge approval.Judge, redact *redact.Redactor) *Approvals {
	return &Approvals{log: log, judge: judge, redact: redact, waiting: map[string]*scope.Deferred[approval.Answer]{}}
}

// Approve implements [turn.Approver]. It waits for an answer until ctx ends. After that, the
// turn's finalizer records that the approval has expired.
func (a *Approvals) Approve(ctx context.Context, call approval.Call) (turn.Grant, error) {
	return a.approve(
		ctx, call, func(call approval.Call, j approval.Judgement) (approval.Answer, error) {
			return a.askPerson(ctx, call, j)
		},
	)
}

// maxQuestions bounds how often approval is requested for a call whose paths lead elsewhere
// after each answer.
const maxQuestions = 3

// maxReviews bounds how often a call is reviewed. After as many reviews during each of which the mode,
// the rules or the paths changed, a person is asked.
const maxReviews = 2

// approve judges a call and requests approval if the judgement requires it. An answer covers
// the places that the request showed. If the call's paths lead elsewhere when the answer
// arrives, the call is judged again and approval is requested again.
func (a *Approvals) approve(
	ctx context.Context, call approval.Call,
	ask func(approval.Call, approval.Judgement) (approval.Answer, error),
) (turn.Grant, error) {
	j, reviews := applyHooks(ctx, a.judge.Judge(call)), 0
	for questions := 0; questions < maxQuestions; {
		call.Places = j.Places
		var before heldAnswer
		j, before = a.compared(call, j)
		needed, err := decide(call, j)
		if !needed {
			return grantOf(j), err
		}
		// A hook allows nothing that differs from the approved call (ADR 43).
		if allowed, err := a.askHooks(ctx, call); allowed && (!before.held || before.same) || err != nil {
			return grantOf(j), err
		}
		j.Secrets = "" // a person or an Approver decides
		if before.same {
			return before.grant(j), nil
		}
		var verdict reviewVerdict
		if reviews < maxReviews {
			if verdict, err = a.review(ctx, call, j, before); err != nil {
				return turn.Grant{}, err
			}
		}
		if verdict.allowed {
			current, holds := a.judgeReviewed(ctx, call, j)
			if holds {
				return verdict.grant(call, j), nil
			}
			j = current
			reviews++
			continue
		}
		questions++
		given, err := ask(withReview(call, verdict), j)
		if err != nil {
			return turn.Grant{}, err
		}
		if given.Arguments != "" {
			return a.approveEdited(ctx, call, given)
		}
		call.Places = nil
		if len(j.Places) == 0 || slices.Equal(placesOf(a.judge, call), j.Places) {
			grant := grantOf(j)
			grant.Permission = given.Permission
			return grant, nil
		}
		j = applyHooks(ctx, a.judge.Judge(call))
		j.Why = "its paths lead elsewhere than when it was approved; " + j.Why
	}
	return turn.Grant{}, deniedByPolicy(call, approval.Judgement{
		Rule: policyMoved, Why: "each time that it was approved, its paths led elsewhere by then",
	})
}

// approveEdited returns how a call runs that a person changed when they approved it. The
// judge judges the changed call: a rule that denies it still holds, and nothing else asks again.
func (a *Approvals) approveEdited(
	ctx context.Context, call approval.Call, given approval.Answer,
) (turn.Grant, error) {
	call.Arguments, call.Places = given.Arguments, nil
	j := applyHooks(ctx, a.judge.Judge(call))
	if j.Decision == event.Deny {
		return turn.Grant{}, deniedByPolicy(call, j)
	}
	if given.Verdict == event.ApprovedSession && !isPlan(call) {
		call.Places = j.Places
		a.judge.Remember(call)
	}
	j.Secrets = ""
	grant := grantOf(j)
	grant.Arguments, grant.Permission = given.Arguments, given.Permission
	return grant, nil
}

// checkEdit returns why the person cannot change the call of the approval.
func checkEdit(found *event.Approval, given approval.Answer) error {
	misfit := func(why string) error { return &approval.MisfitError{Why: "cannot change the call: " + why} }
	switch {
	case given.Arguments == "":
		return nil
	case given.Verdict != event.Approved && given.Verdict != event.ApprovedSession:
		return misfit(fmt.Sprintf("only an approval runs it, not the answer %q", given.Verdict))
	case found.Child != "" || found.Form != nil:
		return misfit("it is a child agent's or a server's")
	case !json.Valid([]byte(given.Arguments)):
		return misfit("its arguments are not JSON")
	case strings.Contains(given.Arguments, redact.Mask):
		return misfit(fmt.Sprintf("it has %q in place of a secret; allow the call as it is, or deny it", redact.Mask))
	}
	_, err := question.Text(question.Call{Tool: found.Tool, Arguments: given.Arguments})
	if err != nil {
		return misfit(err.Error())
	}
	return nil
}

// checkExplain returns why the answer cannot ask for an explanation.
func checkExplain(found *event.Approval, given approval.Answer) error {
	if given.Explain && found.Tool == plan.ProposeName {
		return &approval.MisfitError{Why: "cannot ask for an explanation of a plan: say what to change in a message"}
	}
	fits := given.Verdict == event.Denied && given.Message == approval.ExplainRequest && found.Form == nil
	if given.Explain && !fits {
		return &approval.MisfitError{
			Why: `cannot ask for an explanation: only the answer "denied" to a call, without a message, does`,
		}
	}
	return nil
}

// isPlan reports whether the call presents a plan.
func isPlan(call approval.Call) bool { return call.Tool.Name == plan.ProposeName }

// checkPermission returns why the answer cannot choose a permission.
func checkPermission(tool string, verdict event.Verdict, permission string) error {
	switch {
	case permission == "":
		return nil
	case tool != plan.ProposeName || verdict != event.Approved && verdict != event.ApprovedSession:
		return &approval.MisfitError{Why: "cannot choose a permission: only the answer that accepts a plan does"}
	case !slices.Contains(event.PlanModes(), permission):
		return &approval.MisfitError{Why: fmt.Sprintf("cannot begin the work with the permission %q: use one of %s",
			permission, strings.Join(event.PlanModes(), ", "))}
	}
	return nil
}

// hashOf returns the SHA-256 of the arguments, empty for none.
func hashOf(arguments string) string {
	if arguments == "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(arguments)))
}

// placesOf returns the files that the call's paths lead to now.
func placesOf(judge approval.Judge, call approval.Call) []event.ResolvedPath {
	if p, ok := judge.(approval.Placer); ok {
		return p.Places(call)
	}
	return judge.Judge(call).Places
}

// policyMoved names the policy that refuses calls whose paths keep changing.
const policyMoved = "changing paths"

// grantOf returns how an allowed call runs.
func grantOf(j approval.Judgement) turn.Grant {
	return turn.Grant{Sandbox: j.Sandbox, Secrets: j.Secrets, Places: j.Places, Alone: j.Alone}
}

// askPerson requests approval of the call, and returns the answer if the call may run.
func (a *Approvals) askPerson(
	ctx context.Context, call approval.Call, j approval.Judgement,
) (given approval.Answer, err error) {
	request, err := a.requestOf(call, j)
	if err != nil {
		return given, tooLongError(call, err)
	}
	request.Review = question.Line(a.redact.String(call.Review))
	var id string
	var answer *scope.Deferred[approval.Answer]
	err = turn.InOrder(ctx, func() (err error) {
		id, answer, err = a.request(ctx, call, request)
		return err
	})
	if err != nil {
		return given, err
	}
	defer a.forget(id)
	defer a.notifyHooks(ctx, call)()
	if given, err = answer.Wait(ctx); err != nil {
		return given, err
	}
	switch given.Verdict {
	case event.Approved:
		return given, nil
	case event.ApprovedSession:
		if given.Arguments == "" && !isPlan(call) {
			a.judge.Remember(call)
		}
		return given, nil
	case event.ApprovalAborted:
		// Session.Answer interrupts the turn, which ends ctx.
		<-ctx.Done()
		return given, context.Cause(ctx)
	}
	return given, &approval.DeniedError{Message: denialMessage(call, given, request.Why)}
}

// decide reports whether the call needs approval. If it needs none, err is nil if the call may
// run.
func decide(call approval.Call, j approval.Judgement) (ask bool, err error) {
	switch j.Decision {
	case event.Allow:
		return false, nil
	case event.Deny:
		return false, deniedByPolicy(call, j)
	}
	return true, nil
}

// deniedByPolicy returns the refusal by a declared policy.
func deniedByPolicy(call approval.Call, j approval.Judgement) error {
	return &approval.DeniedError{Policy: j.Rule, Message: fmt.Sprintf(
		"%q was not allowed to run: %s. Continue without it, or state what you would have "+
			"done.", call.Tool.Name, j.Why)}
}

// withReason adds to the message of a policy why the call needed approval, so that the model
// can choose another way.
func withReason(message, why string) string {
	if why == "" || strings.HasPrefix(message, why) {
		return message
	}
	return message + ": " + why
}

func denialMessage(call approval.Call, given approval.Answer, why string) string {
	if given.Policy != "" {
		return deniedByPolicy(call, approval.Judgement{Why: withReason(given.Message, why)}).Error()
	}
	if isPlan(call) {
		return plan.Refused(given.Message)
	}
	s := fmt.Sprintf("The user did not allow this call of %q.", call.Tool.Name)
	if given.Message != "" {
		s += " They said: " + given.Message
	}
	return s
}

// defaultCovers describes the scope of an approval for the session if the judge does not.
const defaultCovers = "later calls that do no more than this call"

// requestOf returns the request for approval of a call: the complete call, or an error.
func (a *Approvals) requestOf(call approval.Call, j approval.Judgement) (event.ApprovalRequested, error) {
	view := question.Call{Tool: call.Tool.Name, Arguments: call.Arguments, Detail: j.Detail}
	a.log.View(func(s event.State) { view.Dir, view.Job = s.Host.Dir, jobOf(s, call) })
	view.Places = disk.ThroughLinks(view.Dir, j.Places)
	text, err := question.Text(view)
	if isPlan(call) {
		return event.ApprovalRequested{
			Tool: call.Tool.Name, Title: question.Line(call.Title), Text: a.redact.String(text), Permission: j.Mode,
		}, err
	}
	return event.ApprovalRequested{
		Tool: call.Tool.Name, Title: question.Line(call.Title), Why: question.Line(a.redact.String(j.Why)),
		Detail: a.redact.Bytes(j.Detail),
		Text:   a.redact.String(text), Covers: question.Line(a.redact.String(
			cmp.Or(j.Covers, defaultCovers),
		)), Once: j.Once, Places: turn.MaskPlaces(a.redact, view.Places), Files: j.Files, Sandbox: j.Sandbox,
		Permission: j.Mode,
	}, err
}

// jobOf returns the command of the job that the call names.
func jobOf(s event.State, call approval.Call) string {
	var in struct{ Job string }
	if call.Tool.Name != "job" || json.Unmarshal([]byte(call.Arguments), &in) != nil {
		return ""
	}
	for _, j := range s.Jobs {
		if j.Job == in.Job {
			return j.Command
		}
	}
	return ""
}

// policyTooLong names the policy that refuses calls that are too long to read (C16).
const policyTooLong = "too long to show"

// tooLongError returns the refusal of a call that is too long to be shown.
func tooLongError(call approval.Call, err error) error {
	return &approval.DeniedError{Policy: policyTooLong, Message: fmt.Sprintf(
		"%q was not allowed to run: %v. Nothing was done. Split it into calls that are shorter.", call.Tool.Name, err)}
}

// request records a request for approval in the log.
func (a *Approvals) request(
	ctx context.Context, call approval.Call, request event.ApprovalRequested,
) (string, *scope.Deferred[approval.Answer], error) {
	return a.record(ctx, request, func(s event.State) (event.Event, bool) {
		return event.Event{Turn: call.Turn, Attempt: call.Attempt, Item: call.Item}, isPending(s, call)
	})
}

// record records a request at the place that the function place returns, if the state still
// has one, and returns the approval's id and its future answer.
func (a *Approvals) record(
	ctx context.Context, request event.ApprovalRequested, place func(event.State) (event.Event, bool),
) (string, *scope.Deferred[approval.Answer], error) {
	var id string
	answer := scope.NewDeferred[approval.Answer]()
	err := update(a.log, func(s event.State) []event.Event {
		e, waits := place(s)
		if ctx.Err() != nil || !waits {
			return nil
		}
		id = s.NextApproval()
		a.mu.Lock()
		a.waiting[id] = answer
		a.mu.Unlock()
		request.Approval = id
		e.Data = request
		return []event.Event{e}
	})
	if err == nil && id == "" {
		if err = context.Cause(ctx); err == nil {
			err = errCallEnded
		}
	}
	if err != nil {
		a.forget(id)
	}
	return id, answer, err
}

// errCallEnded means that the call has ended, such as a call of a failed attempt. The log has
// its output already.
var errCallEnded = errors.New("the call has ended")

// isPending reports whether the call has neither started nor ended.
func isPending(s event.State, call approval.Call) bool {
	t := s.Running()
	if t == nil || t.ID != call.Turn {
		return false
	}
	i := t.Item(call.Item)
	return i != nil && i.Status == event.ItemOpen && !i.Started
}

func (a *Approvals) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// Answer records the answer of an approval. The first answer counts: a later one returns an
// [*approval.AnsweredError], and an unknown approval returns an [*approval.UnknownError].
func (a *Approvals) Answer(given approval.Answer) error {
	switch given.Verdict {
	case event.Approved, event.ApprovedSession, event.Denied, event.ApprovalAborted:
	default:
		return fmt.Errorf(
			"cannot answer with %q: approved, approved_session, denied and aborted are known", given.Verdict,
		)
	}
	if given.Explain && given.Message == "" {
		given.Message = approval.ExplainRequest
	}
	var refused error
	err := update(a.log, func(s event.State) []event.Event {
		place, found := findApproval(s, given.Approval)
		if found == nil {
			refused = &approval.UnknownError{Approval: given.Approval}
			return nil
		}
		if found.Form != nil {
			given.Content = question.Normalize(*found.Form, given.Content)
		}
		if found.Ended != nil {
			refused = &approval.AnsweredError{Approval: given.Approval, Verdict: found.Ended.Verdict, By: found.EndedBy}
			return nil
		}
		refused = cmp.Or(
			checkForm(found, given), checkEdit(found, given), checkExplain(found, given),
			checkPermission(found.Tool, given.Verdict, given.Permission),
		)
		if refused != nil {
			return nil
		}
		if found.Once && given.Verdict == event.ApprovedSession { // a client offers it for every call
			given.Verdict = event.Approved
		}
		place.By, place.Data = given.By, event.ApprovalEnded{
			Approval: given.Approval, Verdict: given.Verdict, Message: a.redact.String(given.Message),
			Policy: given.Policy, Explain: given.Explain,
			Arguments: a.redact.String(given.Arguments), SHA256: hashOf(given.Arguments),
			Permission: given.Permission,
		}
		return []event.Event{place}
	})
	if refused != nil {
		return refused
	}
	if err != nil {
		return fmt.Errorf("cannot record the answer: %w", err)
	}
	a.mu.Lock()
	answer := a.waiting[given.Approval]
	a.mu.Unlock()
	if answer != nil {
		answer.Settle(given)
	}
	return nil
}

// Answer answers a pending approval, or a held call by its id. The verdict "aborted" also interrupts the turn, and
// Answer returns when the turn has ended. For a background child, it ends the child.
func (s *Session) Answer(ctx context.Context, given approval.Answer) error {
	if s.isHeld(given.Approval) {
		if given.Arguments != "" || len(given.Content) > 0 {
			return &approval.MisfitError{Why: "cannot change a held call: it runs exactly as its question showed it"}
		}
		_, err := s.Submit(ctx, run.Input{By: given.By, HeldCall: &event.HeldVerdict{
			Call: given.Approval, Verdict: given.Verdict, Message: given.Message, Permission: given.Permission,
		}})
		return err
	}
	if s.config.Approvals == nil {
		return &approval.UnknownError{Approval: given.Approval}
	}
	if err := s.config.Approvals.Answer(given); err != nil || given.Verdict != event.ApprovalAborted ||
		s.isBackgroundApproval(given.Approval) {
		return err
	}
	ended := make(chan error, 1)
	// Ends with the turn, even if ctx ends first.
	go scope.Shield(func(err error) { ended <- err }, func() {
		_, err := s.Interrupt(context.WithoutCancel(ctx), Request{By: given.By})
		ended <- err // never blocks: capacity 1
	})()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isBackgroundApproval reports whether a background child requested the approval.
func (s *Session) isBackgroundApproval(approval string) (is bool) {
	s.log().View(func(state event.State) {
		place, found := findApproval(state, approval)
		is = found != nil && place.Turn == ""
	})
	return is
}

// findApproval returns an approval and its place in the session, newest turns first.
func findApproval(s event.State, id string) (event.Event, *event.Approval) {
	for _, t := range slices.Backward(s.Turns) {
		if a := t.Approval(id); a != nil {
			return event.Event{Turn: t.ID, Attempt: t.Item(a.Call).Attempt, Item: a.Call}, a
		}
	}
	for _, c := range slices.Backward(s.Children) {
		if a := c.Approval(id); a != nil {
			return event.Event{}, a
		}
	}
	return event.Event{}, nil
}
