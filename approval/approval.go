// Package approval declares how calls are judged, approved and refused. Package
// settle has aliases for its types.
//
//	call ─► Judge: allow, deny, or ask ─► Approver, or an Answer ─► the call runs or not
package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
)

// Call is a tool call that is ready to run.
type Call struct {
	// Turn, Attempt and Item are the ids of the call's event; Item is the id of the call.
	Turn, Attempt, Item string
	Tool                tool.Spec
	// Title is the call in one line, and Arguments is the JSON of its arguments.
	Title     string
	Arguments string
	// Starts are the programs that the call would start and that clients have named.
	Starts []tool.Program
	// Text is the complete call for a person to read. It is empty if the call is too
	// long to be shown: then only a program may approve the call.
	Text string
	// Covers describes in one line what an approval for the session would cover. Once reports that
	// it would cover no other call.
	Covers string
	Once   bool
	// Why states in one line why the call needs approval; empty if it needs none.
	Why string
	// Review is the reason why a review did not allow the call; empty without one.
	Review string
	// Places are the files that the call's paths led to when the call was judged; nil
	// if the judgement did not depend on paths.
	Places []event.ResolvedPath
	// Child is the child agent that makes the call, for the Approver of its parent; "" for the
	// session's own calls.
	Child string
}

// Approver decides whether a call may run. Approve returns nil to let the call run, a
// [*DeniedError] to refuse it, or context.Cause(ctx) if ctx ends first: an approval
// ends with its turn (C16). Several goroutines call Approve.
type Approver interface {
	Approve(ctx context.Context, call Call) error
}

// DeniedError refuses a call.
type DeniedError struct {
	// Message is for the model.
	Message string
	// Policy names the declared policy that refused the call; empty if a person or an
	// Approver refused it.
	Policy string
}

func (e *DeniedError) Error() string { return e.Message }

// Judgement is the decision of a [Judge] about a call, with its reasons.
type Judgement struct {
	Decision event.Permission
	// Rule names the rule that decided, Why explains the decision in one line, and
	// Detail shows what the call would do.
	Rule, Why string
	Detail    json.RawMessage
	// Covers describes in one line which later calls [Judge].Remember would allow;
	// empty means the same call only.
	Covers string
	// Once reports that Remember would allow no later call: frontends do not offer an approval
	// for the session.
	Once bool
	// Sandbox confines the processes of the call, even if a person approves the call. Empty means
	// no sandbox.
	Sandbox event.Sandbox
	// Secrets selects the secrets that the call's processes get if no person approves
	// the call. A call that a person approves gets all of the user's.
	Secrets event.Secrets
	// Places are the files that the call's paths led to when the call was judged; nil
	// if the judgement did not depend on paths. The tool opens only these files.
	Places []event.ResolvedPath
	// Files identifies the contents of the programs and scripts that the call starts and that other
	// calls can change; empty for none. An answer after a stop is valid only for the same contents.
	Files string
	// Alone, if set, is called when the call starts a process, while no sandboxed call runs: it
	// returns why the process must not start. Sandboxed processes start after its exit.
	Alone func() error `json:"-"`
	// Mode is "plan" in plan mode, else the permission in force; empty if that is not known.
	Mode string
	// Review reports that a [Reviewer] can allow the call, about which a person would be asked.
	Review bool
}

// Reviewer is a second model. With the permission [event.Review], it sees a call about which a
// person would be asked, and can allow it.
type Reviewer interface {
	// Model names the model.
	Model() string
	// Review reviews a call. An error, or the end of ctx, means that a person is asked.
	// The result has the usage also with an error.
	Review(ctx context.Context, r ReviewRequest) (Review, error)
	// Timeout bounds a review.
	Timeout() time.Duration
}

// ReviewRequest is a call that a reviewer judges, and its context. It contains no tool output.
type ReviewRequest struct {
	// Tool is the name of the tool. Text is the whole call for a reader. Why is the reason why a
	// person would be asked. Dir is the working directory.
	Tool, Text, Why, Dir string
	// Prompts are the last prompts of the user, oldest first.
	Prompts []string
	// Reviews is the number of earlier reviews in the session; Spent is their usage and cost.
	Reviews int
	Spent   event.Summary
}

// Review is the verdict of a [Reviewer].
type Review struct {
	Allow  bool
	Reason string
	// Usage is nil if no request was answered. Cost is in US dollars, nil if it is not known.
	Usage *event.Usage
	Cost  *float64
}

// Judge decides which calls may run, which need approval and which are denied. Several
// goroutines call its methods.
type Judge interface {
	Judge(call Call) Judgement
	// Remember allows calls of this kind for the rest of the session, at the places of
	// the call, even if its paths lead elsewhere later.
	Remember(call Call)
}

// Placer is implemented by a [Judge] whose judgements depend on the files that paths
// lead to. It is called between an approval and the call.
type Placer interface {
	// Places returns the files that the call's paths lead to now.
	Places(call Call) []event.ResolvedPath
}

// ExplainRequest is the message of an answer with Explain.
const ExplainRequest = "Do not make this call yet. First explain in a few sentences what it would do: what it " +
	"would change, delete, send or download, and whether that could be undone. Then make the same call again, " +
	"and I will decide."

// Answer answers a pending approval.
type Answer struct {
	// Approval is the id of the approval.
	Approval string
	// Verdict is approved, approved_session, denied or aborted. Aborted ends the turn.
	Verdict event.Verdict
	// Message is for the model.
	Message string
	// Explain denies the call until the model has explained its effects. If the model makes
	// the call again, settle asks again. Message is then empty or [ExplainRequest].
	Explain bool
	// Policy names the policy that answers if no person can answer (C16); else empty.
	Policy string
	// Arguments, if set, replace the arguments of the call: the person changed it. The judge judges
	// the changed call again, and only an approval can have them.
	Arguments string
	// Permission, with an approved plan, is the mode in which the work begins; see
	// [event.PlanModes]. Empty means the session's own mode.
	Permission string
	// By names who answers: "user" or a client.
	By string
	// Content has the values of a form: a JSON object. The server that asked receives
	// it; the log does not.
	Content json.RawMessage
}

// AnsweredError reports an answer that came too late, or a second answer. It had no
// effect (C16).
type AnsweredError struct {
	Approval string
	Verdict  event.Verdict // with which the approval ended
	By       string        // who answered; empty if the approval ended with its turn
}

func (e *AnsweredError) Error() string {
	if e.Verdict == event.Expired {
		return fmt.Sprintf("approval %s has expired with its turn; nothing was run", e.Approval)
	}
	return fmt.Sprintf("approval %s was answered before (%s, by %s); nothing was run", e.Approval, e.Verdict, e.By)
}

// UnknownError reports that the session never requested the approval.
type UnknownError struct{ Approval string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no approval %q in this session", e.Approval)
}

// FormError reports an answer that does not fit the form. The form stays open.
type FormError struct{ Why string }

func (e *FormError) Error() string { return "cannot send the form: " + e.Why }

// MisfitError reports an answer that does not fit its call. The approval still waits.
type MisfitError struct{ Why string }

func (e *MisfitError) Error() string { return e.Why }
