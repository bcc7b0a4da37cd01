package proof

import (
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/modeltest"
)

// Script is a whole session. [Parse] reads it from the turn language, which
// docs/reference/proof.md describes, and String writes it.
type Script struct {
	// Wire is the wire format of the model; "" means messages.
	Wire Wire
	// Fallback is the wire format of the fallback model; "" means that there is none.
	Fallback Wire
	// Window is the model's window, in tokens; 0 means unknown.
	Window int
	// Caches is the name of a model whose provider caches prompts; the instructions are then as
	// long as real ones. "" is a model without a cache.
	Caches string
	// Compact configures compaction; "" means none.
	Compact turn.Compaction
	Limits  Limits
	// Holds is the real size of the provider's window, independent of Window.
	Holds Holds
	// Families has the models call tools in the words of their families, or of others,
	// or with free text (package tool/family).
	Families bool
	// Searches has the provider search for the tool of the calls, where it can.
	Searches bool
	// Ask has settle ask about every call. The first answer is for the first request, and so on;
	// the last answer is for all further requests.
	Ask     bool
	Answers []Answer
	// Reviews are the verdicts of a reviewer, who judges the calls before a person is asked, in the
	// order of the calls; the last verdict is for all further calls. Without verdicts there is no
	// reviewer.
	Reviews []Review
	// Plan has the session begin in plan mode if a person can be asked.
	Plan bool
	// Hooks is the seed of the hooks' answers; 0 means no hooks.
	Hooks int
	// Responses are the model's responses, request by request. After the last one, the model
	// responds that it is done.
	Responses []Response
	Moves     []Move
	Readers   []Reader
	// Ends are the expected ends of the turns, in order, if they are known: "completed", "failed",
	// or the reason of an abort.
	Ends []string
}

// Limits are the limits of each turn; zero values are the product's defaults.
type Limits struct {
	Steps, Repeats int
	Time           time.Duration
	// Retries, if Retried, replaces the budgets of retries.
	Retries int
	Retried bool
	Stall   time.Duration
	Grace   time.Duration
}

// Holds is a provider's own window; the zero Holds is none.
type Holds struct {
	Tokens, Bytes int  // number of tokens, and bytes per token
	Terse         bool // its error has no numbers
}

// Response is one response of the model, with its faults.
type Response struct {
	Pace   time.Duration // before each delta
	Stop   modeltest.StopReason
	Items  []Item
	Faults []modeltest.Fault
}

// ItemKind is the kind of an output item of the model.
type ItemKind string

// The kinds of items. The last three are calls that cannot be run.
const (
	Say      ItemKind = "say"
	Think    ItemKind = "think"
	Redacted ItemKind = "redacted"
	Refuse   ItemKind = "refuse"
	Find     ItemKind = "find"    // the provider searches for the tool
	Propose  ItemKind = "propose" // a call that presents a plan
	Call     ItemKind = "call"
	Unknown  ItemKind = "unknown" // a tool that is not there
	Invalid  ItemKind = "invalid" // arguments of the wrong type
	Broken   ItemKind = "broken"  // arguments that are not JSON
)

// Item is one output item of the model.
type Item struct {
	Kind ItemKind
	Text string // of the message, or of the proposed plan
	Plan Plan   // of a call
}

// Plan has the steps of a call. The model sends it as the argument.
type Plan []Step

// StepKind is the kind of a step.
type StepKind string

// The kinds of steps.
const (
	Take        StepKind = "take"    // works for a time, and stops when it is cancelled
	Deaf        StepKind = "deaf"    // works for a time, and ignores interrupts
	Print       StepKind = "print"   // puts out text
	Leave       StepKind = "job"     // leaves a process running as a job
	Inquire     StepKind = "inquire" // asks the user, as ask_user does
	Child       StepKind = "child"   // starts a child agent in the background, which works for a time
	Await       StepKind = "await"   // has one work in the foreground
	Fail        StepKind = "fail"    // ends with an error
	Panic       StepKind = "panic"
	Flood       StepKind = "flood" // puts out so many bytes
	Remote      StepKind = "far"   // works for a time at the executor, on another machine
	Slow        StepKind = "slow"  // the same, over a slow connection
	Back        StepKind = "back"  // the same; the connection is cut, and comes back
	Twice       StepKind = "twice" // the same; each message comes twice
	HostDies    StepKind = "gone"  // the same; the executor dies
	Unreachable StepKind = "away"  // the same; the machine is unreachable for longer than the lease
)

// Step is one step of a call.
type Step struct {
	Kind  StepKind
	For   time.Duration
	Text  string
	Bytes int
}

// Deed is an outside action on the session.
type Deed string

// The deeds.
const (
	Send      Deed = "input"
	Interrupt Deed = "interrupt" // the turn that runs; with N, the turn of the Nth input
	Hurry     Deed = "hurry"     // an interrupt without grace
	Cancel    Deed = "cancel"    // of the oldest call that runs, alone
	Drop      Deed = "drop"      // of the oldest input that waits
	Compact   Deed = "compact"   // of the history, in a turn of its own
	Crash     Deed = "crash"     // as kill -9
	Close     Deed = "close"     // and open again
	Switch    Deed = "switch"    // close, and open again with another model, on another wire
	Fill      Deed = "fill"      // the disk: no space is left but the reserve
	Ruin      Deed = "ruin"      // the disk: each write fails
	Account   Deed = "account"   // the provider's is another one: it knows no reasoning from before
	Clock     Deed = "clock"     // jumps: that by which the events are dated
	Reject    Deed = "reject"    // the provider no longer takes something, and does not say why
	Held      Deed = "held"      // the oldest held call is answered
)

// Move is a deed at its time: when the log has its event On, or After the
// start.
type Move struct {
	On    int // 0: by time
	After time.Duration
	Do    Deed
	// Mode and Text are of an input. The Nth input of the script has the id iN.
	Mode event.Mode
	Text string
	N    int
	By   time.Duration // how far a clock jumps; back, if it is less than 0
	// Image reports that the input has an image.
	Image bool
	// Document reports that the input has a PDF.
	Document bool
	// Command reports that the input is a command: Text is a plan.
	Command bool
	// Wire is the new wire format of a switch.
	Wire Wire
	// Rejects is the content that the provider rejects from now on.
	Rejects modeltest.Rejection
	// Verdict is the answer to a held call.
	Verdict event.Verdict
}

// Answer is given to a request for approval.
type Answer struct {
	After   time.Duration
	Verdict event.Verdict // "" for none at all
	Message string        // of a denial
	// Edit is the plan that replaces the plan of the approved call. Permission is the permission of
	// the work that an accepted plan begins.
	Edit, Permission string
}

// ReviewKind is the outcome of a review.
type ReviewKind string

// The kinds of reviews.
const (
	Allows ReviewKind = "allows"
	Asks   ReviewKind = "asks" // has a person asked
	Fails  ReviewKind = "fails"
	Stalls ReviewKind = "stalls" // gives no verdict in time
)

// Review is the verdict of a reviewer.
type Review struct {
	After time.Duration
	Kind  ReviewKind
}

// Reader is a subscriber.
type Reader struct {
	// Slow is the time that the reader takes for each event.
	Slow time.Duration
	// Leaves is the number of events after which the reader stops reading, for the duration For; 0
	// means never.
	Leaves int
	For    time.Duration
}
