package event

import (
	"cmp"
	"encoding/json"
)

// SessionOpened: a process holds the session and may write to it.
type SessionOpened struct {
	Settle     string     `json:"settle"`               // version of the binary
	Dir        string     `json:"dir"`                  // working directory, absolute
	Face       string     `json:"face,omitempty"`       // way in: "run", "serve", "library", …
	PID        int        `json:"pid,omitempty"`        // process id of the host
	Permission Permission `json:"permission,omitempty"` // policy in force
	// Parent is the session that started this one as a child agent, at ParentTurn
	// and ParentCall; Child is its id there, and Depth how many parents it has.
	Parent     string   `json:"parent,omitempty"`
	ParentTurn string   `json:"parent_turn,omitempty"`
	ParentCall string   `json:"parent_call,omitempty"`
	Child      string   `json:"child,omitempty"`
	Depth      int      `json:"depth,omitempty"`
	Notes      []string `json:"notes,omitempty"` // what a person should know, such as weaker custody
	// Process proves that a process is the host; nil where the system cannot say.
	Process *Identity `json:"process,omitempty"`
	// Confinement is what commands may do that nobody confines or frees by name;
	// nil where no commands are run.
	Confinement *Confinement `json:"sandbox,omitempty"`
}

// Sandbox is what a command may do, by the kernel's own means.
type Sandbox string

// The sandboxes.
const (
	// NoSandbox leaves a command all that the user may do.
	NoSandbox Sandbox = "off"
	// ReadOnly lets it read, and nothing else.
	ReadOnly Sandbox = "read-only"
	// Workspace lets it read, and change what is in the working directory.
	Workspace Sandbox = "workspace"
)

// On reports whether it confines at all; "" is the same as NoSandbox.
func (s Sandbox) On() bool { return s != "" && s != NoSandbox }

// Confinement is what a session's commands may do, and what holds them to it (C22).
type Confinement struct {
	Mode    Sandbox `json:"mode"`
	Network string  `json:"network,omitempty"` // off, proxy or on
	// By names what enforces it here; Tried is how many ways around it were tried
	// out before the session began, none of which led out.
	By    []string `json:"by,omitempty"`
	Tried int      `json:"tried,omitempty"`
	// Missing says why there is less than was asked for, and Gaps what the mode
	// forbids and cannot be enforced here.
	Missing string   `json:"missing,omitempty"`
	Gaps    []string `json:"gaps,omitempty"`
}

// FaceLibrary is the way in of a program that embeds settle and names no other.
const FaceLibrary = "library"

// Identity names a process for good (C23). A process id alone is given to
// another process in time, and means something else in another container.
type Identity struct {
	PID       int    `json:"pid"`
	Started   uint64 `json:"started"`             // as the system counts it, such as clock ticks since boot
	Boot      string `json:"boot"`                // id of the machine's boot
	Namespace string `json:"namespace,omitempty"` // within which the process id holds
}

// SessionRecovered: the last writer died without closing, or the log's tail
// was damaged; the survivor says what it found. It stands for the missing
// session.closed and follows the endings of everything that was open.
type SessionRecovered struct {
	PID      int    `json:"pid,omitempty"`       // of the host that died, where known
	Ended    int    `json:"ended,omitempty"`     // how many things recovery had to end
	CutBytes int64  `json:"cut_bytes,omitempty"` // length of the damaged tail
	Kept     string `json:"kept,omitempty"`      // file that keeps the damaged tail
	Swept    []int  `json:"swept,omitempty"`     // pids of orphans that were ended
	Message  string `json:"message,omitempty"`
}

// SessionClosed: the host let go of the session; nothing of it runs.
type SessionClosed struct {
	Reason  Reason `json:"reason,omitempty"` // empty for a normal close
	Message string `json:"message,omitempty"`
}

// Mode says what an input does when a turn is running.
type Mode string

// The modes.
const (
	Queue   Mode = "queue"   // runs after the turn (default)
	Steer   Mode = "steer"   // joins the turn at its next model request
	Replace Mode = "replace" // aborts the turn, then runs
)

// Image is a picture within an input.
type Image struct {
	MediaType string `json:"media_type"` // image/png, image/jpeg, image/gif, image/webp
	Data      []byte `json:"data"`       // the file's bytes; base64 in JSON
	Name      string `json:"name,omitempty"`
}

// InputAccepted: an input is durable and will be run, held or dropped (C19).
type InputAccepted struct {
	Input  string  `json:"input"` // id
	Text   string  `json:"text"`
	Images []Image `json:"images,omitempty"`
	Mode   Mode    `json:"mode,omitempty"`
	// Schema, if set, is a JSON Schema that the turn's answer is to follow.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Command says that Text is a command of a person. The turn runs it, without
	// asking anybody, as a call that is of no attempt and whose CallID is the
	// input's id; the model is shown it with the next request.
	Command bool `json:"command,omitempty"`
}

// InputHeld: the input will not run by itself; the next send takes it along.
type InputHeld struct {
	Input  string `json:"input"`
	Reason Reason `json:"reason,omitempty"`
}

// InputDropped: somebody took the input back before it ran.
type InputDropped struct {
	Input string `json:"input"`
}

// InterruptRequested: somebody asked for an end. Item names a single call; without it
// the turn is meant.
type InterruptRequested struct {
	Reason Reason `json:"reason"`
	Input  string `json:"input,omitempty"` // covers this input, accepted but not started
}

// TurnStarted: the inputs named are being worked on.
type TurnStarted struct {
	Inputs     []string   `json:"inputs"`
	Provider   string     `json:"provider,omitempty"`
	Model      string     `json:"model,omitempty"`
	Effort     string     `json:"effort,omitempty"`
	Permission Permission `json:"permission,omitempty"`
	// Purpose says what it is for, where that is not to answer inputs; it has none then.
	Purpose Purpose `json:"purpose,omitempty"`
}

// Purpose says what a turn or an attempt is for, where that is not the model's answer.
type Purpose string

// The purposes.
const (
	// Compaction: the history is to become shorter. A turn for it does nothing
	// else; an attempt for it asks for a summary.
	Compaction Purpose = "compaction"
)

// Usage counts tokens. Input includes what was read from and written to the
// provider's cache; Output includes Reasoning.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cache_read_tokens,omitempty"`
	CacheWrite int64 `json:"cache_write_tokens,omitempty"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_tokens,omitempty"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning,
	}
}

// Tokens are the tokens of a request and its response as numbers of the model's
// vocabulary, for training.
type Tokens struct {
	Prompt     []int32   `json:"prompt,omitempty"`
	Completion []int32   `json:"completion,omitempty"`
	Logprobs   []float64 `json:"logprobs,omitempty"` // of the completion
	// Incomplete says that some are missing: there were too many, or the server sent
	// something else.
	Incomplete bool `json:"incomplete,omitempty"`
}

// maxTokens bounds the lists of Tokens together: about what a request can have.
const maxTokens = 1 << 20

// Add appends what a response brought next, up to a bound.
func (t *Tokens) Add(more Tokens) {
	n := len(t.Prompt) + len(t.Completion) + len(t.Logprobs) + len(more.Prompt) + len(more.Completion) + len(more.Logprobs)
	if t.Incomplete = t.Incomplete || more.Incomplete || n > maxTokens; t.Incomplete {
		return
	}
	if more.Prompt != nil { // it comes once, whole
		t.Prompt = more.Prompt
	}
	t.Completion = append(t.Completion, more.Completion...)
	t.Logprobs = append(t.Logprobs, more.Logprobs...)
}

// Summary is what a finished turn took.
type Summary struct {
	Steps    int   `json:"steps"`            // responses that the model finished, but for summaries
	Attempts int   `json:"attempts"`         // requests that were sent
	Calls    int   `json:"calls"`            // tool calls that started
	Denied   int   `json:"denied,omitempty"` // approvals that were denied
	Usage    Usage `json:"usage"`
	// Cost is what the requests cost whose price was known, in US dollars, and
	// Unpriced how many took tokens at a price that was not: with any, the cost is
	// not known.
	Cost     float64 `json:"cost_usd,omitempty"`
	Unpriced int     `json:"unpriced,omitempty"`
}

// CostUSD returns what it all cost in US dollars; known is false where nothing
// was used, or at a price that is not known.
func (s Summary) CostUSD() (usd float64, known bool) {
	return s.Cost, s.Unpriced == 0 && s.Cost > 0
}

// Add adds what an attempt used.
func (s *Summary) Add(end AttemptEnded) {
	s.Usage = s.Usage.Add(end.Usage)
	switch {
	case end.Cost != nil:
		s.Cost += *end.Cost
	case end.Usage != (Usage{}):
		s.Unpriced++
	}
}

// Join adds what other turns took.
func (s *Summary) Join(other Summary) {
	s.Steps += other.Steps
	s.Attempts += other.Attempts
	s.Calls += other.Calls
	s.Denied += other.Denied
	s.Usage = s.Usage.Add(other.Usage)
	s.Cost += other.Cost
	s.Unpriced += other.Unpriced
}

// TurnCompleted: the model finished and asked for no further tool.
type TurnCompleted struct {
	// Answer is the text of the last message that the model finished in the turn.
	Answer string `json:"answer,omitempty"`
	Summary
}

// TurnAborted: somebody or something forced the end.
type TurnAborted struct {
	Reason  Reason `json:"reason"`
	Limit   Limit  `json:"limit,omitempty"`
	Message string `json:"message,omitempty"`
	Summary
}

// TurnFailed: the turn could not go on.
type TurnFailed struct {
	Failure *Failure `json:"error"`
	Summary
}

// Change says how the history that a model is sent changes.
type Change string

// The changes.
const (
	ChangeWindow    Change = "window"    // Tokens is what the model is found to hold
	ChangeShortened Change = "shortened" // what came before is shortened to about Tokens
	ChangeLeftOut   Change = "left_out"  // LeftOut is left out of what came before
	ChangeRestored  Change = "restored"  // what was left out on trial comes back, since it did not help
	ChangeBasis     Change = "basis"     // the instructions, the tools or the settings of the model are others
	ChangeCompacted Change = "compacted" // what came before From is replaced by Summary and Ledger, for every model
)

// Trigger says what a compaction was for.
type Trigger string

// The triggers.
const (
	TriggerFull     Trigger = "full"     // the model's window was nearly full
	TriggerOverflow Trigger = "overflow" // the provider refused a request as too long
	TriggerRequest  Trigger = "request"  // somebody asked for it
)

// Place is a place between the responses of a session.
type Place struct {
	Turn string `json:"turn"`
	// Attempts is how many of the turn's attempts come before it.
	Attempts int `json:"attempts"`
}

// Part is what can be left out of a history.
type Part string

// The parts, in the order in which they are left out.
const (
	PartRefusedInputs Part = "refused_inputs" // inputs of earlier turns that were refused and never answered
	PartReasoning     Part = "reasoning"      // with what else only its provider can read
	PartImages        Part = "images"
	PartTools         Part = "tools"   // arguments and outputs of calls
	PartAnswers       Part = "answers" // all that the model said and did
	PartInputs        Part = "inputs"  // earlier turns as a whole
)

// HistoryChanged: from the next request on, the model named is sent what came
// before in another form. It is the one kind of event, beside an attempt that failed as
// ADR 7 describes, at which requests stop extending the ones before (C6, C21).
//
// What is left out is so on trial, in place of what the change before it left
// out, until a response comes; then it stays so. If the turn ends before, it comes
// back.
type HistoryChanged struct {
	Change   Change `json:"change"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Tokens   int    `json:"tokens,omitempty"` // as settle counts them
	LeftOut  []Part `json:"left_out,omitempty"`
	Why      string `json:"why"` // for people

	// Of a compaction. Where more of it is to follow, Piece says so: the history
	// was too long to be summarised at once.
	Trigger Trigger `json:"trigger,omitempty"`
	From    *Place  `json:"from,omitempty"`    // from here on all stays as it is; nil where nothing does
	Summary string  `json:"summary,omitempty"` // of what came before, by the model
	Ledger  string  `json:"ledger,omitempty"`  // what settle knows of it
	Before  int     `json:"before,omitempty"`  // tokens of the request that it replaces; Tokens are those of the next
	Piece   bool    `json:"piece,omitempty"`
}

// AttemptStarted: one model request is about to be sent.
type AttemptStarted struct {
	Step      int      `json:"step"`               // from 1 within the turn
	N         int      `json:"n"`                  // from 1 within the step
	Provider  string   `json:"provider,omitempty"` // provider's name
	Model     string   `json:"model,omitempty"`
	Inputs    []string `json:"inputs,omitempty"`     // inputs that steer: they join here
	MaxTokens int      `json:"max_tokens,omitempty"` // clamped output limit that was sent
	Trimmed   int      `json:"trimmed,omitempty"`    // parts of the conversation that were shortened to fit
	// Basis names what the request has in common with those before it: a hash of
	// the instructions, the tools and what settle knows of the model.
	Basis string `json:"basis,omitempty"`
	// Purpose says what the request is for, where that is not the next response.
	Purpose Purpose `json:"purpose,omitempty"`
}

// AttemptEnded: the response ended, one way or another.
type AttemptEnded struct {
	Outcome    Outcome `json:"outcome"`
	Reason     Reason  `json:"reason,omitempty"`      // if aborted
	StopReason string  `json:"stop_reason,omitempty"` // provider's, normalised: end_turn, tool_use, max_tokens, refusal, …
	ResponseID string  `json:"response_id,omitempty"`
	Usage      Usage   `json:"usage"`
	// Cost is what the usage cost, in US dollars; nil if the price is not known.
	Cost    *float64 `json:"cost_usd,omitempty"`
	Failure *Failure `json:"error,omitempty"`
	// RetryIn is the wait before the next attempt in milliseconds; nil if
	// there will be none.
	RetryIn *int64 `json:"retry_in_ms,omitempty"`
	// Tokens are the tokens themselves, where the request asked for them.
	Tokens *Tokens `json:"tokens,omitempty"`
	// Discarded are the items of the attempt that are not part of the
	// conversation, since a later attempt says them anew: what did not finish,
	// and what came after its last call that started.
	Discarded []string `json:"discarded,omitempty"`
}

// ItemType is the type of an item.
type ItemType string

// The item types.
const (
	Message   ItemType = "message"   // text of the model for a person
	Reasoning ItemType = "reasoning" // text of the model for itself
	ToolCall  ItemType = "tool_call" // a tool call with its output
	Note      ItemType = "note"      // text of settle for the model
	Digest    ItemType = "summary"   // text of the model about what came before, for a compaction
)

// ItemStarted: an item begins; its text follows in deltas.
type ItemStarted struct {
	Type       ItemType `json:"type"`
	ProviderID string   `json:"provider_id,omitempty"`
	CallID     string   `json:"call_id,omitempty"` // provider's id of a call
	Name       string   `json:"name,omitempty"`    // tool
}

// Stream says which text of an item a delta continues.
type Stream string

// The streams.
const (
	Text      Stream = "text"      // message, reasoning, summary
	Arguments Stream = "arguments" // call, until call.ready
	Output    Stream = "output"    // call, from call.started on
)

// ItemDelta: more of an item's text.
type ItemDelta struct {
	Stream Stream `json:"stream"`
	Text   string `json:"text"`
	// Notice says that the output is not the call's own: it is a line of settle's, in
	// brackets, about what people should know while the call runs.
	Notice bool `json:"notice,omitempty"`
}

// CallReady: a call's arguments are complete. They need not be valid.
type CallReady struct {
	Name      string `json:"name"`
	CallID    string `json:"call_id,omitempty"`
	Arguments string `json:"arguments"`
	Sent      *Sent  `json:"sent,omitempty"`
	Seal      *Seal  `json:"seal,omitempty"` // what the provider attached to the call
}

// Sent is a call as the model made it, where that differs from what the log says of
// it: models call tools by the names that they were trained on.
type Sent struct {
	Name string `json:"name"`
	// Arguments are empty where they follow from the call's own and the name.
	Arguments string `json:"arguments,omitempty"`
}

// CallStarted is durable before the call's side effects begin (C5).
type CallStarted struct {
	Title string `json:"title,omitempty"` // the call in one line, for people
	// Sandbox is what its processes may do; empty for whatever the user may.
	Sandbox Sandbox `json:"sandbox,omitempty"`
	// Arguments are what it runs with, where a hook has changed what the model wrote.
	Arguments string `json:"arguments,omitempty"`
}

// Status is how far an item is.
type Status string

// The statuses of an item.
const (
	ItemOpen      Status = "open"
	ItemCompleted Status = "completed"
	ItemFailed    Status = "failed"  // call: it ran and says it failed, or was refused
	ItemAborted   Status = "aborted" // cut before its end
)

// Effects says what an aborted call may have done. It is empty for a call
// that ran to its end.
type Effects string

// The effects.
const (
	EffectsNone    Effects = "none"    // it never started
	EffectsPartial Effects = "partial" // it ran and was ended; nothing of it runs on
	EffectsUnknown Effects = "unknown" // nobody knows
)

// Content is all that an item says.
type Content struct {
	Type ItemType `json:"type"`
	Text string   `json:"text,omitempty"` // message, reasoning, note, summary

	// Who made it, and what only they can read.
	Provider   string `json:"provider,omitempty"`
	Model      string `json:"model,omitempty"`
	ProviderID string `json:"provider_id,omitempty"`
	Seal       *Seal  `json:"seal,omitempty"`

	// Tool calls.
	CallID      string          `json:"call_id,omitempty"`
	Name        string          `json:"name,omitempty"`
	Arguments   string          `json:"arguments,omitempty"`
	Sent        *Sent           `json:"sent,omitempty"`
	Output      string          `json:"output,omitempty"`       // what the model is told
	OutputFile  string          `json:"output_file,omitempty"`  // where the whole output is, if it is longer
	OutputBytes int64           `json:"output_bytes,omitempty"` // length of the whole output
	ExitCode    *int            `json:"exit_code,omitempty"`
	Detail      json.RawMessage `json:"detail,omitempty"` // for people and faces (a diff, …), never sent
	Jobs        []string        `json:"jobs,omitempty"`   // jobs that the call left behind
	Survivors   []Process       `json:"survivors,omitempty"`

	// Child is the child agent whose end a note tells the model (C18). Each end is
	// told once.
	Child string `json:"child,omitempty"`
	// Instruction is the file that a note has the text of: the project's instructions
	// for where calls work. Each is given once.
	Instruction string `json:"instruction,omitempty"`

	// Effective are the arguments that a call ran with, where a hook has changed those
	// that the model wrote.
	Effective string `json:"effective_arguments,omitempty"`
}

// RanWith returns the arguments that the call runs with.
func (c Content) RanWith() string { return cmp.Or(c.Effective, c.Arguments) }

// Process is a process that settle could not end (C7).
type Process struct {
	PID     int    `json:"pid"`
	Command string `json:"command,omitempty"`
	Why     string `json:"why,omitempty"`
}

// ItemEnded carries the item whole, so that nobody needs its deltas any more.
type ItemEnded struct {
	Status  Status  `json:"status"`
	Effects Effects `json:"effects,omitempty"` // aborted call
	Cause   *Cause  `json:"cause,omitempty"`   // if aborted
	Content
}

// ApprovalRequested: a call waits for somebody's word. The event's item is
// the call, or the one that started the child agent that asks.
type ApprovalRequested struct {
	Approval string          `json:"approval"` // id
	Tool     string          `json:"tool"`
	Title    string          `json:"title,omitempty"`
	Why      string          `json:"why,omitempty"` // which rule asks
	Detail   json.RawMessage `json:"detail,omitempty"`
	// Text is the whole call for a person to read, and Covers what approving
	// it for the session would cover.
	Text   string `json:"text,omitempty"`
	Covers string `json:"covers,omitempty"`
	// Child is the child agent that asks, about a call of its own.
	Child string `json:"child,omitempty"`
	// Form, if set, is what a tool server wants to know while its call runs: the
	// call has started, and only the form is answered.
	Form *Form `json:"form,omitempty"`
}

// Form is what a tool server asks the user for. What the user fills in goes to the
// server only, and not into the log.
type Form struct {
	Server  string `json:"server"`
	Message string `json:"message"`
	// Schema is the JSON Schema of the values: an object of plain properties. URL is
	// a page to open instead.
	Schema json.RawMessage `json:"schema,omitempty"`
	URL    string          `json:"url,omitempty"`
}

// Verdict is how an approval ended.
type Verdict string

// The verdicts.
const (
	Approved        Verdict = "approved"
	ApprovedSession Verdict = "approved_session"
	Denied          Verdict = "denied"
	ApprovalAborted Verdict = "aborted" // and the turn is to be interrupted
	Expired         Verdict = "expired" // its turn ended first (C16)
)

// ApprovalEnded: somebody, or a declared policy, answered.
type ApprovalEnded struct {
	Approval string  `json:"approval"`
	Verdict  Verdict `json:"verdict"`
	Message  string  `json:"message,omitempty"` // words for the model
	Policy   string  `json:"policy,omitempty"`  // the policy that answered where nobody could
}

// JobStarted: a process of the session outlives its call.
type JobStarted struct {
	Job     string `json:"job"` // id
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Log     string `json:"log,omitempty"`  // file with its output
	Mark    string `json:"mark,omitempty"` // SETTLE_CUSTODY in the environment of its processes, by which they are shown
	// Process is the process, and Keeper its warden: by these it is ended from outside.
	Process *Identity `json:"process,omitempty"`
	Keeper  *Identity `json:"keeper,omitempty"`
}

// JobEnd is how a job ended.
type JobEnd string

// The ends of a job.
const (
	JobExited   JobEnd = "exited"
	JobKilled   JobEnd = "killed"   // by the user, the model or the session's end
	JobReleased JobEnd = "released" // it runs on, on purpose
	JobLost     JobEnd = "lost"     // its host died; the survivor ended what was left of it
)

// JobEnded: the session no longer owns the job.
type JobEnded struct {
	Job       string    `json:"job"`
	How       JobEnd    `json:"how"`
	ExitCode  *int      `json:"exit_code,omitempty"`
	Cause     *Cause    `json:"cause,omitempty"`
	Survivors []Process `json:"survivors,omitempty"`
}

// ChildStarted: a child agent works in a session of its own. The event's
// turn and item are the parent's; both are empty for a background child.
type ChildStarted struct {
	Child   string `json:"child"`   // id
	Session string `json:"session"` // its session
	// Call is the call that started it; the item of the event, where it has one.
	Call  string `json:"call,omitempty"`
	Title string `json:"title,omitempty"` // what it is to do, in one line, for people
	Model string `json:"model,omitempty"`
	// Worktree is the git worktree that is made for it; nil if it works where its
	// parent does.
	Worktree *Worktree `json:"worktree,omitempty"`
}

// Worktree is a git worktree that settle makes for a child agent. While settle is
// answerable for it, git has it as locked, and the reason names the child's session (C23).
type Worktree struct {
	Path   string `json:"path"`   // its top
	Dir    string `json:"dir"`    // where the child works in it
	Git    string `json:"git"`    // the repository's own directory
	Branch string `json:"branch"` // made for it
	Base   string `json:"base"`   // the commit that it begins with
}

// WorktreeLeft is what became of a worktree.
type WorktreeLeft struct {
	Kept bool `json:"kept"` // else it is removed
	// Why says what has changed in it, or why it could not be removed.
	Why string `json:"why,omitempty"`
}

// ChildEnded: the child's work ended. A background child's end is news for the
// model of the parent, which a note tells it (C18); see [Content].Child.
type ChildEnded struct {
	Child   string  `json:"child"`
	Outcome Outcome `json:"outcome"`
	Cause   *Cause  `json:"cause,omitempty"`
	// Answer is the last that it said, also where it did not complete; of a long
	// one, both ends.
	Answer string `json:"answer,omitempty"`
	// ElapsedMS is how long it worked, in milliseconds; 0 if nobody knows.
	ElapsedMS int64 `json:"elapsed_ms,omitempty"`
	// Spent is what it and its own children took; nil if nobody knows.
	Spent *Summary `json:"spent,omitempty"`
	// Worktree is what became of its worktree; nil if it had none, and if that is
	// found out later.
	Worktree *WorktreeLeft `json:"worktree,omitempty"`
}
