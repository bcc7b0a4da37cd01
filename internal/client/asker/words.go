package asker

import (
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/question"
	"github.com/settle-agent/settle/tool/plan"
)

// Words returns a question as text: the whole call, the reason for the question, and the
// scope of an approval for the session. A call that cannot be shown whole is refused before
// a frontend receives it.
func Words(a event.ApprovalRequested) string {
	var b strings.Builder
	b.WriteString(a.Text)
	if a.Why != "" {
		b.WriteString("\n\nAsked because " + a.Why)
	}
	if a.Review != "" {
		b.WriteString("\n\n" + a.Review)
	}
	switch {
	case a.Covers == "":
	case a.Once:
		b.WriteString("\n\nAn approval covers " + a.Covers + ".")
	default:
		b.WriteString("\n\nAllowing it for the session also allows " + a.Covers + ".")
	}
	return b.String()
}

// IsPlan reports whether a person is asked to accept a plan.
func IsPlan(a event.ApprovalRequested) bool { return a.Tool == plan.ProposeName }

// Headline is a question in one line.
func Headline(a event.ApprovalRequested) string {
	switch {
	case a.Form != nil && a.Form.Server == "":
		return "The agent asks you"
	case a.Form != nil:
		return question.Line(a.Form.Server) + " asks for input"
	}
	if IsPlan(a) {
		return "Accept this plan?"
	}
	return "Allow this call?"
}

// FormMessage returns the message of a form for protocols that show one above its fields:
// ofServer begins the message of a server.
func FormMessage(f event.Form, ofServer string) string {
	switch {
	case f.Server != "":
		return ofServer + f.Message
	case f.Message != "":
		return f.Message
	}
	return "The agent asks you"
}

// Visible makes characters that hide or reorder text visible.
func Visible(text string) string { return question.Visible(text) }
