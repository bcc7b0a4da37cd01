package event

import (
	"cmp"
	"strings"
)

// Term is a value of the log or of a setting, with the words for it that people read. The
// terminal, the page, "settle run", ACP, MCP and the docs take the words from here; the page
// has a generated copy (internal/frontend/web/page/assets/terms.js), the docs have a table
// (docs/reference/glossary.md), and tests compare both.
type Term struct {
	Value string // such as "approved_session"
	Words string // such as "allow for the session"
	// Past is an answer that was given, such as "allowed for the session"; else empty.
	Past string
}

// AnswerTerms are the answers to an approval, in the order in which a person chooses, and the one
// ending that is no answer. Value is a [Verdict], or the value of [ExplainTerm].
func AnswerTerms() []Term {
	return []Term{
		{string(Approved), "allow once", "allowed once"},
		{string(ApprovedSession), "allow for the session", "allowed for the session"},
		{string(Denied), "deny", "denied"},
		ExplainTerm(),
		{string(ApprovalAborted), "stop the turn", "denied, and the turn stopped"},
		{string(Expired), "expired", "expired"},
	}
}

// ExplainTerm is the answer that denies a call until the model has explained its effects. In
// the log, it is the verdict "denied" with "explain".
func ExplainTerm() Term {
	return Term{"explain", "deny for now, explain the effects", "denied until the model explains the effects"}
}

// ModeTerms are the permission modes that a person can choose. Value is the name in
// settings and protocols.
func ModeTerms() []Term {
	return []Term{
		{Value: "ask", Words: "ask"},
		{Value: "accept-edits", Words: "accept edits"},
		{Value: "review", Words: "review"},
		{Value: "read-only", Words: "read-only"},
		{Value: "plan", Words: "plan"},
		{Value: "allow", Words: "allow"},
	}
}

// PlanTerms are the answers that accept a plan, in the order in which a person chooses. Value is
// the permission mode in which the work begins, as in [ModeTerms].
func PlanTerms() []Term {
	return []Term{
		{Value: "ask", Words: "accept the plan, and ask before changes"},
		{Value: "accept-edits", Words: "accept the plan and all edits"},
		{Value: "allow", Words: "accept the plan and every call"},
	}
}

// PlanModes are the values of [PlanTerms].
func PlanModes() (modes []string) {
	for _, one := range PlanTerms() {
		modes = append(modes, one.Value)
	}
	return modes
}

// PlanWords are the answer that accepts a plan and begins the work in a mode.
func PlanWords(mode string) string {
	if mode == "" {
		return "accept the plan"
	}
	return termOf(PlanTerms(), mode).Words
}

// EndingTerms are the endings of turns, calls and sessions. Value is an [Outcome], or the
// [Reason] of an aborted one.
func EndingTerms() []Term {
	return []Term{
		{Value: string(Completed), Words: "completed"},
		{Value: string(Failed), Words: "failed"},
		{Value: string(Interrupted), Words: "interrupted"},
		{Value: string(Replaced), Words: "replaced"},
		{Value: string(Shutdown), Words: "shut down"},
		{Value: string(Crashed), Words: "crashed"},
		{Value: string(LimitReached), Words: "limit reached"},
		{Value: string(Parent), Words: "parent ended"},
		{Value: string(MachineLost), Words: "machine lost"},
		{Value: string(TimedOut), Words: "timed out"},
	}
}

// Words are the verdict as a person chooses it: "allow once".
func (v Verdict) Words() string { return termOf(AnswerTerms(), string(v)).Words }

// Past is the verdict as an answer that was given: "allowed once".
func (v Verdict) Past() string { return termOf(AnswerTerms(), string(v)).Past }

// PermissionWords describes a permission mode: the calls that it asks about, and the treatment of
// commands, which can be empty. asks begins with the mode's own words. confined is the sandbox of
// the session's commands, nil if that is not known.
func PermissionWords(mode string, confined *Confinement) (asks, commands string) {
	sandboxed := confined != nil && confined.Mode == Workspace
	if sandboxed {
		commands = confined.Words()
	}
	switch ModeWords(mode) {
	case "ask":
		if sandboxed {
			return "asks before edits", commands
		}
		return "asks before changes", ""
	case "review":
		return "reviews changes, then asks", commands
	case "accept edits":
		return "accepts edits", cmp.Or(commands, "asks before commands")
	case "read-only":
		return "read-only", "refuses changes"
	case "plan":
		return "plan", "only reads until you accept a plan"
	case "allow":
		return "allows every call", "" // a sandbox that holds in another mode may not hold in this one
	}
	return mode, ""
}

// PermissionSentence returns PermissionWords in one phrase, such as "asks before edits, commands
// sandboxed in this directory".
func PermissionSentence(mode string, confined *Confinement) string {
	asks, commands := PermissionWords(mode, confined)
	if commands == "" {
		return asks
	}
	return asks + ", " + commands
}

// Words describes the sandbox of a session's commands; empty if none was requested, or if it is not
// known.
func (c *Confinement) Words() string {
	switch {
	case c == nil:
		return ""
	case c.Mode == Workspace:
		return "commands sandboxed in this directory"
	case c.Mode.On():
		return "commands sandboxed, change nothing"
	case c.Missing != "":
		return "commands not sandboxed"
	}
	return ""
}

// OneModeSentence returns PermissionSentence for a session whose mode does not change. It also
// names the sandbox in force, or states that there is none.
func OneModeSentence(mode string, confined *Confinement) string {
	words, sandbox := PermissionSentence(mode, confined), confined.Words()
	if sandbox == "" || strings.HasSuffix(words, sandbox) || mode == string(Deny) {
		return words
	}
	return words + ", " + sandbox
}

// ModeEffect returns PermissionSentence for a place that names the mode beside it.
func ModeEffect(mode string, confined *Confinement) string {
	return strings.TrimPrefix(PermissionSentence(mode, confined), ModeWords(mode)+", ")
}

// Past returns the outcome of the approval: "allowed once", or "allowed once, edited" for a call
// that the person changed.
func (d ApprovalEnded) Past() string {
	switch {
	case d.Explain:
		return ExplainTerm().Past
	case d.Arguments != "":
		return d.Verdict.Past() + ", edited"
	}
	return d.Verdict.Past()
}

// ModeWords returns a permission mode in words: "accept edits". The permission "deny" is the mode
// "read-only".
func ModeWords(mode string) string {
	if mode == string(Deny) {
		mode = "read-only"
	}
	return termOf(ModeTerms(), mode).Words
}

// EndingWords describes an end in at most two words: "completed", "shut down". For an abort, the
// reason counts.
func EndingWords(o Outcome, r Reason) string {
	if o == Aborted && r != "" {
		return termOf(EndingTerms(), string(r)).Words
	}
	return termOf(EndingTerms(), string(o)).Words
}

// Words describes the end of the child, with the message of its cause.
func (d ChildEnded) Words() string {
	if d.Cause != nil {
		return d.Cause.Error()
	}
	return EndingWords(d.Outcome, "")
}

// termOf returns the term of a value. A value that has none, of a later version, is its own
// word.
func termOf(terms []Term, value string) Term {
	for _, t := range terms {
		if t.Value == value {
			return t
		}
	}
	return Term{value, value, value}
}
