package event

import "strings"

// Recommended ends the label of the option that a model recommends, as Codex and Claude
// Code have models write it.
const Recommended = "(Recommended)"

// Assumed returns the answer that holds without another answer: the default, or the label
// of the recommended option; empty for none.
func (q Question) Assumed() string {
	if q.Default != "" && (len(q.Options) == 0 || q.Has(q.Default)) {
		return q.Default
	}
	for _, o := range q.Options {
		if strings.HasSuffix(o.Label, Recommended) {
			return o.Label
		}
	}
	return ""
}

// Has reports whether the label is one of the question's options.
func (q Question) Has(label string) bool {
	for _, o := range q.Options {
		if o.Label == label {
			return true
		}
	}
	return false
}

// FormEnding is the outcome of a question to the user.
type FormEnding string

// The endings of questions.
const (
	Answered   FormEnding = "answered"
	Declined   FormEnding = "declined"
	Withdrawn  FormEnding = "withdrawn"  // the user or a client stopped the turn instead
	Lapsed     FormEnding = "expired"    // the turn ended first for another reason
	Unattended FormEnding = "unattended" // no person could be asked, and a policy answered
)

// FormEnding returns how the question of an approval ended, and an empty ending while it is open.
// The item of its call has the reason why a question expired.
func (t *Turn) FormEnding(a *Approval) FormEnding {
	var reason Reason
	if i := t.Item(a.Call); i != nil && i.Cause != nil {
		reason = i.Cause.Reason
	}
	switch {
	case a.Ended == nil:
		return ""
	case a.Ended.Policy != "":
		return Unattended
	case a.Ended.Verdict == Approved:
		return Answered
	case a.Ended.Verdict == Denied:
		return Declined
	case a.Ended.Verdict == ApprovalAborted:
		return Withdrawn
	}
	return FormAborted(reason)
}

// FormAborted is the ending of a question whose call is aborted for the reason.
func FormAborted(reason Reason) FormEnding {
	if reason == Interrupted || reason == Replaced {
		return Withdrawn
	}
	return Lapsed
}
