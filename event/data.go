package event

import (
	"cmp"
	"encoding/json"
	"time"
)

// SessionOpened: a process holds the session and may write to it.
type SessionOpened struct {
	Settle     string     `json:"settle"`               // version of the binary
	Dir        string     `json:"dir"`                  // working directory, absolute
	Frontend   string     `json:"face,omitempty"`       // frontend: "run", "serve", "library", …
	PID        int        `json:"pid,omitempty"`        // process id of the host
	Permission Permission `json:"permission,omitempty"` // policy in force
	// Parent is the session that started this one as a child agent, at ParentTurn
	// and ParentCall; Child is its id there, and Depth how many parents it has.
	Parent     string   `json:"parent,omitempty"`
	ParentTurn string   `json:"parent_turn,omitempty"`
	ParentCall string   `json:"parent_call,omitempty"`
	Child      string   `json:"child,omitempty"`
	Depth      int      `json:"depth,omitempty"`
	Notes      []string `json:"notes,omitempty"` // for people, such as weaker process tracking
	// Imported reports that the events from here to the next session.opened come from a file.
	// Nothing proves their data about this machine: paths, files, processes.
	Imported bool `json:"imported,omitempty"`
	// Process proves that a process is the host; nil where the system cannot say.
	Process *Identity `json:"process,omitempty"`
	// Confinement is the sandbox of commands for which no rule names another one;
	// nil if the session runs no commands.
	Confinement *Confinement `json:"sandbox,omitempty"`
	// Worktree is the session's own git worktree; nil if it works in a directory of the
	// user. A child agent's is in [ChildStarted].
	Worktree *Worktree `json:"worktree,omitempty"`
}

// FrontendLibrary is the frontend of a program that embeds settle and names no other.
const FrontendLibrary = "library"

// FrontendApprovals is the frontend that records verdicts about held calls. It runs no turn, so the session
// keeps the directory and the worktree of the host before.
const FrontendApprovals = "approvals"

// Identity identifies a process permanently (C23). The system reuses a process id
// alone, and another container has its own process ids.
type Identity struct {
	PID       int    `json:"pid"`
	Started   uint64 `json:"started"`             // start time in the system's unit, such as clock ticks since boot
	Boot      string `json:"boot"`                // id of the machine's boot
	Namespace string `json:"namespace,omitempty"` // PID namespace of the process id
}

// SessionRecovered: the last writer died without closing, or the log's tail was
// damaged; the process that opened the log next reports its findings. The event
// replaces the missing session.closed and follows the endings of all open entities.
type SessionRecovered struct {
	PID      int    `json:"pid,omitempty"`       // host that died, if known
	Ended    int    `json:"ended,omitempty"`     // number of entities that recovery ended
	CutBytes int64  `json:"cut_bytes,omitempty"` // length of the damaged tail
	Kept     string `json:"kept,omitempty"`      // file with the damaged tail
	Swept    []int  `json:"swept,omitempty"`     // pids of orphans that recovery ended
	Message  string `json:"message,omitempty"`
}

// SessionClosed: the host released the session; none of its processes runs.
type SessionClosed struct {
	Reason  Reason `json:"reason,omitempty"` // empty for a normal close
	Message string `json:"message,omitempty"`
	// Worktree is the outcome of the session's own git worktree; nil if it had none.
	Worktree *WorktreeLeft `json:"worktree,omitempty"`
}

// Mode is the effect of an input on a running turn.
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

// Document is a PDF within an input. Models that do not take it receive its text.
type Document struct {
	MediaType string `json:"media_type"` // application/pdf
	Data      []byte `json:"data"`       // the file's bytes; base64 in JSON
	Name      string `json:"name,omitempty"`
	// Pages is the number of pages; 0 if it is unknown.
	Pages int `json:"pages,omitempty"`
	// Text is the text of the pages, with a line before each.
	Text string `json:"text,omitempty"`
	// Encrypted reports that the file is encrypted, which no provider takes.
	Encrypted bool `json:"encrypted,omitempty"`
	// Problem is the reason why Text is empty or incomplete; empty if nothing is missing.
	Problem string `json:"problem,omitempty"`
}

// InputAccepted: an input is durable; a turn runs it, or it is held or dropped (C19).
type InputAccepted struct {
	Input  string  `json:"input"` // id
	Text   string  `json:"text"`
	Images []Image `json:"images,omitempty"`
	// Documents are the attached PDFs.
	Documents []Document `json:"documents,omitempty"`
	Mode      Mode       `json:"mode,omitempty"`
	// Schema, if set, is a JSON Schema that the turn's answer must follow.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Command reports whether Text is a shell command of a person. The turn runs it
	// without approval, as a call that belongs to no attempt and whose CallID is the
	// input's id; the next request shows the call to the model.
	Command bool `json:"command,omitempty"`
	// HeldCall, if set, is a person's verdict about a held call; Text then says it in words.
	HeldCall *HeldVerdict `json:"held_call,omitempty"`
}

// InputHeld: the input will not run by itself; the turn of the next input includes it.
type InputHeld struct {
	Input  string `json:"input"`
	Reason Reason `json:"reason,omitempty"`
}

// InputDropped: a client withdrew the input before it ran.
type InputDropped struct {
	Input string `json:"input"`
}

// InterruptRequested: a client requested an interrupt of the turn, or of a single
// call if the event has an item.
type InterruptRequested struct {
	Reason Reason `json:"reason"`
	Input  string `json:"input,omitempty"` // covers this input, accepted but not started
}

// TurnStarted: a turn works on the named inputs.
type TurnStarted struct {
	Inputs     []string   `json:"inputs"`
	Provider   string     `json:"provider,omitempty"`
	Model      string     `json:"model,omitempty"`
	Effort     string     `json:"effort,omitempty"`
	Permission Permission `json:"permission,omitempty"`
	// Purpose is set for a turn that answers no inputs; the turn then has none.
	Purpose Purpose `json:"purpose,omitempty"`
	// StreamLimits bound the model's silence; nil if they are not known. They are not the limits of
	// a fallback model.
	StreamLimits *StreamLimits `json:"stream_limits,omitempty"`
}

// Purpose is the purpose of a turn or an attempt other than the model's answer.
type Purpose string

// The purposes.
const (
	// Compaction shortens the history. A compaction turn does nothing else; a
	// compaction attempt requests a summary.
	Compaction Purpose = "compaction"
)

// TurnCompleted: the model finished and called no further tool.
type TurnCompleted struct {
	// Answer is the text of the last message that the model finished in the turn.
	Answer string `json:"answer,omitempty"`
	Summary
}

// TurnAborted: a person, a client, a limit, a shutdown or a crash forced the end.
type TurnAborted struct {
	Reason  Reason `json:"reason"`
	Limit   Limit  `json:"limit,omitempty"`
	Message string `json:"message,omitempty"`
	// StoppedAt is the time of the last event before the host died, if the reason is crashed. The
	// time of this event is the time of the recovery.
	StoppedAt time.Time `json:"stopped_at,omitzero"`
	Summary
}

// TurnFailed: the turn could not continue.
type TurnFailed struct {
	Failure *Failure `json:"error"`
	Summary
}

// Change is the kind of a change to the history of later model requests.
type Change string

// The changes.
const (
	ChangeWindow    Change = "window"    // Tokens is the window of the model, as observed
	ChangeShortened Change = "shortened" // the history so far is shortened to about Tokens
	ChangeLeftOut   Change = "left_out"  // the parts in LeftOut are omitted from the history so far
	ChangeRestored  Change = "restored"  // parts omitted on trial return, since omitting them did not help
	ChangeBasis     Change = "basis"     // the instructions, the tools or the settings of the model changed
	ChangeModel     Change = "model"     // the rest of the turn uses the named model: a fallback
	ChangeCompacted Change = "compacted" // Summary and Digest replace the history before From, for every model
)

// Trigger is the cause of a compaction.
type Trigger string

// The triggers.
const (
	TriggerFull     Trigger = "full"     // the model's window was nearly full
	TriggerOverflow Trigger = "overflow" // the provider refused a request as too long
	TriggerRequest  Trigger = "request"  // a person or a client requested it
)

// Place is a position between two responses of a session.
type Place struct {
	Turn string `json:"turn"`
	// Attempts is the number of the turn's attempts before the place.
	Attempts int `json:"attempts"`
}

// Part is a part of a history that a request can omit.
type Part string

// The parts, in the order in which requests omit them.
const (
	PartRefusedInputs Part = "refused_inputs" // inputs of earlier turns that were refused and never answered
	PartReasoning     Part = "reasoning"      // and other data that only its provider can read
	PartImages        Part = "images"
	PartDocuments     Part = "documents" // PDFs; the model receives their text
	PartTools         Part = "tools"     // arguments and outputs of calls
	PartAnswers       Part = "answers"   // all messages and calls of the model
	PartInputs        Part = "inputs"    // earlier turns as a whole
)

// HistoryChanged: from the next request on, the named model receives the history so
// far in another form. Apart from an attempt that failed as ADR 7 describes, it is the
// only kind of event at which requests stop extending the earlier ones (C6, C21).
//
// LeftOut is omitted on trial, and replaces the LeftOut of the change before it. A
// response makes the omission permanent; if the turn ends first, the parts return.
type HistoryChanged struct {
	Change   Change `json:"change"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Tokens   int    `json:"tokens,omitempty"` // by settle's count
	LeftOut  []Part `json:"left_out,omitempty"`
	Why      string `json:"why"` // for people

	// Fields of a compaction. Piece reports that another piece of the compaction
	// follows, because the history was too long for one summary.
	Trigger Trigger `json:"trigger,omitempty"`
	From    *Place  `json:"from,omitempty"`    // first place that the compaction keeps; nil if it keeps none
	Summary string  `json:"summary,omitempty"` // the model's summary of the history before From
	Digest  string  `json:"ledger,omitempty"`  // settle's digest of the history before From
	Before  int     `json:"before,omitempty"`  // tokens of the replaced request; Tokens counts the next one
	Piece   bool    `json:"piece,omitempty"`
}

// AttemptStarted: one model request is about to be sent.
type AttemptStarted struct {
	Step      int      `json:"step"`               // from 1 within the turn
	N         int      `json:"n"`                  // from 1 within the step
	Provider  string   `json:"provider,omitempty"` // provider's name
	Model     string   `json:"model,omitempty"`
	Inputs    []string `json:"inputs,omitempty"`     // inputs that steer: they join here
	MaxTokens int      `json:"max_tokens,omitempty"` // output limit of the request, clamped to the window
	Trimmed   int      `json:"trimmed,omitempty"`    // number of parts that were shortened to fit the window
	// Basis is a hash of the instructions, the tools and the model's settings, which
	// the request shares with earlier requests.
	Basis string `json:"basis,omitempty"`
	// Purpose is set for a request whose response is not the model's answer.
	Purpose Purpose `json:"purpose,omitempty"`
}

// AttemptEnded: the response ended, for any cause.
type AttemptEnded struct {
	Outcome    Outcome `json:"outcome"`
	Reason     Reason  `json:"reason,omitempty"`      // if aborted
	StopReason string  `json:"stop_reason,omitempty"` // provider's, normalised: end_turn, tool_use, max_tokens, refusal, …
	ResponseID string  `json:"response_id,omitempty"`
	Usage      Usage   `json:"usage"`
	// Estimated reports that the provider's usage was implausible and that Usage is
	// settle's estimate from the text of the request and the response.
	Estimated bool `json:"usage_estimated,omitempty"`
	// Cost is the price of Usage in US dollars; nil if the price is unknown.
	Cost    *float64 `json:"cost_usd,omitempty"`
	Failure *Failure `json:"error,omitempty"`
	// RetryIn is the delay before the next attempt in milliseconds; nil if no
	// attempt follows.
	RetryIn *int64 `json:"retry_in_ms,omitempty"`
	// Tokens are the token ids, if the request asked for them.
	Tokens *Tokens `json:"tokens,omitempty"`
	// Discarded are the ids of the attempt's items that leave the conversation because
	// a later attempt generates them again: unfinished items, and the items after
	// the attempt's last started call.
	Discarded []string `json:"discarded,omitempty"`
}

// ItemType is the type of an item.
type ItemType string

// The item types.
const (
	Message   ItemType = "message"   // the model's text for a person
	Reasoning ItemType = "reasoning" // the model's reasoning
	ToolCall  ItemType = "tool_call" // a tool call with its output
	Note      ItemType = "note"      // settle's text for the model
	Digest    ItemType = "summary"   // the model's summary of a history, for a compaction
)

// ItemStarted: an item begins; its text follows in deltas.
type ItemStarted struct {
	Type       ItemType `json:"type"`
	ProviderID string   `json:"provider_id,omitempty"`
	CallID     string   `json:"call_id,omitempty"` // provider's id of a call
	Name       string   `json:"name,omitempty"`    // tool
}

// Stream is the text of an item that a delta continues.
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
	// Notice reports that the text is not the call's own output but a line of settle,
	// in brackets, that informs people while the call runs.
	Notice bool `json:"notice,omitempty"`
}

// CallReady: a call's arguments are complete. They need not be valid.
type CallReady struct {
	Name      string             `json:"name"`
	CallID    string             `json:"call_id,omitempty"`
	Arguments string             `json:"arguments"`
	Sent      *Sent              `json:"sent,omitempty"`
	Signature *ProviderSignature `json:"seal,omitempty"` // the provider signature of the call
}

// Sent is a call as the model wrote it, if it differs from the call in the log: models
// call tools by the names that they were trained on.
type Sent struct {
	Name string `json:"name"`
	// Arguments are empty if the call's own arguments and the name determine them.
	Arguments string `json:"arguments,omitempty"`
}

// CallStarted is durable before the call's side effects begin (C5).
type CallStarted struct {
	Title string `json:"title,omitempty"` // the call in one line, for people
	// Sandbox confines the call's processes; empty for none.
	Sandbox Sandbox `json:"sandbox,omitempty"`
	// Secrets are the secrets that the call's processes receive.
	Secrets Secrets `json:"secrets,omitempty"`
	// Arguments are set if a hook or a person changed the model's arguments.
	Arguments string `json:"arguments,omitempty"`
	// Places are the paths of the call that lead through links.
	Places []ResolvedPath `json:"places,omitempty"`
}

// Status is the state of an item.
type Status string

// The statuses of an item.
const (
	ItemOpen      Status = "open"
	ItemCompleted Status = "completed"
	ItemFailed    Status = "failed"  // call: it ran and reported a failure, or was refused
	ItemAborted   Status = "aborted" // ended before it was complete
)

// Effects are the possible side effects of an aborted call; empty for a call that
// ran to its end.
type Effects string

// The effects.
const (
	EffectsNone    Effects = "none"    // the call never started
	EffectsPartial Effects = "partial" // the call ran and was ended; none of its processes runs
	EffectsUnknown Effects = "unknown" // the effects cannot be known
)

// Content is the whole content of an item.
type Content struct {
	Type ItemType `json:"type"`
	Text string   `json:"text,omitempty"` // message, reasoning, note, summary

	// Origin of a model's item, and its provider signature.
	Provider   string             `json:"provider,omitempty"`
	Model      string             `json:"model,omitempty"`
	ProviderID string             `json:"provider_id,omitempty"`
	Signature  *ProviderSignature `json:"seal,omitempty"`

	// Tool calls.
	CallID      string          `json:"call_id,omitempty"`
	Name        string          `json:"name,omitempty"`
	Arguments   string          `json:"arguments,omitempty"`
	Sent        *Sent           `json:"sent,omitempty"`
	Output      string          `json:"output,omitempty"`       // the output that the model receives
	OutputFile  string          `json:"output_file,omitempty"`  // file with the whole output, if Output is shortened
	OutputBytes int64           `json:"output_bytes,omitempty"` // length of the whole output
	ExitCode    *int            `json:"exit_code,omitempty"`
	Detail      json.RawMessage `json:"detail,omitempty"` // for people and frontends (a diff, …), never sent to the model
	Jobs        []string        `json:"jobs,omitempty"`   // jobs that remained after the call
	Survivors   []Process       `json:"survivors,omitempty"`

	// Child is the child agent whose result a note reports to the model (C18), exactly
	// once for each child.
	Child string `json:"child,omitempty"`
	// Instruction is the file of project instructions that a note contains. The model
	// receives each file once.
	Instruction string `json:"instruction,omitempty"`

	// Effective are the arguments that a call ran with, if a hook or a person changed the
	// model's arguments.
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

// ItemEnded carries the whole item, so that readers do not need its deltas.
type ItemEnded struct {
	Status  Status  `json:"status"`
	Effects Effects `json:"effects,omitempty"` // aborted call
	Cause   *Cause  `json:"cause,omitempty"`   // if aborted
	Content
}

// ApprovalRequested: a call waits for an approval. The event's item is the call, or
// the call that started the child agent whose call waits.
type ApprovalRequested struct {
	Approval string          `json:"approval"` // id
	Tool     string          `json:"tool"`
	Title    string          `json:"title,omitempty"`
	Why      string          `json:"why,omitempty"` // the rule that requires the approval
	Detail   json.RawMessage `json:"detail,omitempty"`
	// Text is the whole call for a person to read; Covers is the scope of an
	// approval for the session. Once reports that it covers no other call: then a client
	// does not offer it.
	Text   string `json:"text,omitempty"`
	Covers string `json:"covers,omitempty"`
	Once   bool   `json:"once,omitempty"`
	// Places are the paths of the call that lead through links.
	Places []ResolvedPath `json:"places,omitempty"`
	// Files is a hash of the programs and scripts of the working directory that a command starts: of
	// their names, contents and rights; empty for none.
	Files string `json:"files,omitempty"`
	// Sandbox is the sandbox that would confine the call's processes; empty for no sandbox.
	Sandbox Sandbox `json:"sandbox,omitempty"`
	// Permission is "plan" in plan mode, else the permission in force; empty if that is not known.
	Permission string `json:"permission,omitempty"`
	// Child is the child agent whose own call waits.
	Child string `json:"child,omitempty"`
	// Review is the reason why a review did not allow the call, or the failure of the review; empty
	// without one.
	Review string `json:"review,omitempty"`
	// Form, if set, is a question of a tool server or of the model during a call: the
	// call has started, and the answer fills in the form only.
	Form *Form `json:"form,omitempty"`
}

// Form is a question to the user: of the tool server Server, whose values are not in the
// log, or of the model (Questions), whose answers are the call's output.
type Form struct {
	Server  string `json:"server"` // empty for the model's questions
	Message string `json:"message"`
	// Schema is the JSON Schema of the values: an object of plain properties. URL, if
	// set, is a page that the user opens instead.
	Schema json.RawMessage `json:"schema,omitempty"`
	URL    string          `json:"url,omitempty"`
	// Questions are the model's questions. The nth question, from 1, has the properties
	// "q<n>" of Schema, and "q<n>_text" for an answer that is none of its options.
	Questions []Question `json:"questions,omitempty"`
}

// Question is a question of the model to the user. The user can always answer in words of
// their own. Header is a label of a few characters.
type Question struct {
	Question string   `json:"question"`
	Header   string   `json:"header,omitempty"`
	Options  []Choice `json:"options,omitempty"`
	// MultiSelect lets the user choose several options.
	MultiSelect bool `json:"multiSelect,omitempty"`
	// Default is the label of an option, or the text, that holds without another answer.
	Default string `json:"default,omitempty"`
}

// Choice is an option of a [Question].
type Choice struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Verdict is the outcome of an approval.
type Verdict string

// The verdicts.
const (
	Approved        Verdict = "approved"
	ApprovedSession Verdict = "approved_session"
	Denied          Verdict = "denied"
	ApprovalAborted Verdict = "aborted" // denied, and the turn is interrupted
	Expired         Verdict = "expired" // its turn ended first (C16)
)

// ApprovalEnded: a person, a client or a declared policy answered, or the turn ended.
type ApprovalEnded struct {
	Approval string  `json:"approval"`
	Verdict  Verdict `json:"verdict"`
	Message  string  `json:"message,omitempty"` // message for the model
	Policy   string  `json:"policy,omitempty"`  // the declared policy that answered without a person
	// Explain reports that the person denied the call until the model has explained its
	// effects. Message is the request for that.
	Explain bool `json:"explain,omitempty"`
	// Arguments are set if the person changed the call before it runs. SHA256 is the hex hash of
	// these arguments before secrets were masked.
	Arguments string `json:"arguments,omitempty"`
	SHA256    string `json:"arguments_hash,omitempty"`
	// Permission is the mode in which the work on an approved plan begins, such as "ask"; empty
	// for the session's own.
	Permission string `json:"permission,omitempty"`
}
