package fleet

import (
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// Task is one prompt, and where and how to run it.
type Task struct {
	// Session is the session that the input is for; "" makes a new one. Input is
	// the input's id; "" means "1". Together they are the task's id, and a task
	// with the id of another is that one.
	Session string `json:"session,omitempty"`
	Input   string `json:"input,omitempty"`
	// Prompt is the input.
	Prompt string `json:"prompt"`
	// Dir is the directory that the agent works in, on every worker the same.
	Dir string `json:"dir,omitempty"`
	// Repo, if set, is the URL of a git repository: the agent works in a clone of it
	// that is the session's own, at Ref, a branch, tag or commit; "" is the
	// repository's HEAD. Depth bounds its history; 0 is all.
	Repo  string `json:"repo,omitempty"`
	Ref   string `json:"ref,omitempty"`
	Depth int    `json:"depth,omitempty"`
	// Model is PROVIDER/NAME; "" means the workers' default.
	Model string `json:"model,omitempty"`
	// Executor is a command that leads to settle executor on the machine to work on; ""
	// means the worker's own.
	Executor string `json:"hands,omitempty"`
	Limits   Limits `json:"limits,omitzero"`
	// Batch names the tasks that share a budget (package budget); "" is none.
	Batch string `json:"batch,omitempty"`
	// Tenant is the tenant of the task: tenants that have tasks waiting get their shares
	// of the workers. "" means [DefaultTenant].
	Tenant string `json:"tenant,omitempty"`
	// Labels are for finding tasks again.
	Labels map[string]string `json:"labels,omitempty"`
}

// Limits bound each turn of a task; 0 is no limit.
type Limits struct {
	Steps int `json:"steps,omitempty"`
	// Seconds are at least a millisecond, and at most 365 days.
	Seconds float64 `json:"seconds,omitempty"`
	Tokens  int64   `json:"tokens,omitempty"`
}

// SessionLimits returns the limits of a session's turns.
func (l Limits) SessionLimits() settle.Limits {
	return settle.Limits{Steps: l.Steps, Time: time.Duration(l.Seconds * float64(time.Second)), Tokens: l.Tokens}
}

// ID returns the id of the task.
func (t Task) ID() string { return t.Session + "/" + t.Input }

// State is the state of a task.
type State string

// The states.
const (
	Queued  State = "queued"
	Running State = "running"
	Ended   State = "ended"
	// Held means that its turn has ended, and that calls of it wait for a person. No worker has it,
	// and other inputs of its session run.
	Held State = "held"
)

// OutcomeHeld is the outcome of a task that is [Held]. Programs that do not know the state see a
// task that has ended so.
const OutcomeHeld event.Outcome = "held"

// HeldCall is a call that waits for a person: its turn ended before it began, and the log has its
// question.
type HeldCall struct {
	// ID is the id of [event.HeldCall].
	ID    string    `json:"id"`
	Tool  string    `json:"tool"`
	Title string    `json:"title,omitempty"`
	Why   string    `json:"why,omitempty"`
	At    time.Time `json:"asked"` // when approval was requested
}

// Verdict is a person's decision about a held call.
type Verdict struct {
	Call    string        `json:"call"`    // its id
	Verdict event.Verdict `json:"verdict"` // approved or denied; expired, if the task was cancelled before
	Message string        `json:"message,omitempty"`
	By      string        `json:"by,omitempty"`
	At      time.Time     `json:"at"`
}

// TaskStatus is a task with its state, attempts and result.
type TaskStatus struct {
	ID    string `json:"unit"`
	Task  Task   `json:"task"`
	State State  `json:"state"`
	// Attempt counts the workers that took it, and Lost the workers among them that died.
	Attempt int `json:"attempts"`
	Lost    int `json:"lost,omitempty"`
	// Worker is the one that runs it, or did last.
	Worker string `json:"worker,omitempty"`
	// Cancel names the requester of its cancellation; "" if there is none.
	Cancel string `json:"cancelled_by,omitempty"`
	// Verdicts are the decisions of people about calls that were held.
	Verdicts []Verdict `json:"verdicts,omitempty"`

	Result  *Result    `json:"result,omitempty"`
	Created time.Time  `json:"created"`
	Started *time.Time `json:"started,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
}

// Result is the result of a task: that of its last turn.
type Result struct {
	Outcome event.Outcome `json:"outcome"`
	Reason  event.Reason  `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
	Answer  string        `json:"answer,omitempty"`
	// Turn is the last turn, Turns the number of turns, and Seq the number of the
	// event that ended the last one; empty if there was none.
	Turn    string        `json:"turn,omitempty"`
	Turns   int           `json:"turns"`
	Seq     uint64        `json:"seq,omitempty"`
	Summary event.Summary `json:"summary"` // of all of them
	// Checkpoint is the final state of the task's repository; nil if the task has
	// none.
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	// Held are the calls that wait for a person, if the task does.
	Held []HeldCall `json:"held,omitempty"`
}

// Checkpoint is the state of a workspace after a turn. It includes what is not
// committed, but nothing that git ignores.
type Checkpoint struct {
	// Base is the commit that the session began with, Head the agent's own last commit,
	// on Branch. Commit has the state of the files: it is Head, or follows it if they
	// differ. Empty if there is no checkpoint, for the reason in Error.
	Base   string `json:"base,omitempty"`
	Head   string `json:"head,omitempty"`
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Bytes is the size of the bundle with all that follows Base; 0 if nothing does.
	Bytes int64 `json:"bytes,omitempty"`
	// Turn is the turn before the checkpoint, Epoch the worker's epoch, and Taken the time
	// of the checkpoint.
	Turn  string    `json:"turn,omitempty"`
	Epoch int64     `json:"epoch,omitempty"`
	Taken time.Time `json:"taken,omitzero"`
	// Missing describes the files that are not in it.
	Missing string `json:"missing,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Attempt is a task that a worker has received.
type Attempt struct {
	TaskID string
	Task   Task
	// Number counts the attempts, from 1; Lost the attempts whose worker died.
	Number, Lost int
	// Rescued says that the worker before this one died or did not move.
	Rescued bool
	// Age is the time from the task's submission until the worker received it; 0 if the engine
	// does not know it.
	Age time.Duration
	// Epoch is the fencing epoch of the worker for the session's log, and Seq the number of the log's last event.
	Epoch, Seq int64
	// Returns is the number of times in a row that workers have given the task back without an event of theirs in
	// the log.
	Returns int
	// Cancel names the requester of the task's cancellation; "" if there is none.
	Cancel string
	// Verdicts are the decisions of people about calls of the task that were held.
	Verdicts []Verdict
}
