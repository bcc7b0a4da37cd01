package asker

import (
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/question"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/plan"
)

// Words returns a question as text: the whole call, the reason for the question, and the
// scope of an approval for the session. A call that cannot be shown whole is refused before
// a frontend receives it.
func Words(a event.ApprovalRequested) string {
	var b strings.Builder
	b.WriteString(a.Text)
	if why := Reason(a); why != "" {
		b.WriteString("\n\n" + why)
	}
	if a.Review != "" {
		b.WriteString("\n\n" + a.Review)
	}
	switch {
	case a.Covers == "":
	case a.Once:
		b.WriteString("\n\nAn approval covers " + Scope(a) + ".")
	default:
		b.WriteString("\n\nAllowing it for the session also allows " + Scope(a) + ".")
	}
	return b.String()
}

// Reason states why settle asks. It is empty for a reason that only repeats the call, which names
// the file. The page has the same rule in words.js, reasonWords, and scopeWords for [Scope].
func Reason(a event.ApprovalRequested) string {
	if a.Why == "" || ofOneFile(a, "it writes ", a.Why) {
		return ""
	}
	return "Asked because " + a.Why
}

// Scope returns the calls that an approval for the session covers, in words. It does not repeat the
// name of the call's file.
func Scope(a event.ApprovalRequested) string {
	const change = "every later change of "
	if ofOneFile(a, change, a.Covers) {
		return change + "this file"
	}
	return a.Covers
}

// ofOneFile reports whether words are a beginning and the name of the only file that the call creates or
// updates. A link behind the name is more than the call says.
func ofOneFile(a event.ApprovalRequested, beginning, words string) bool {
	name, ok := strings.CutPrefix(words, beginning)
	if !ok || toolview.KindOf(a.Tool) != toolview.Edit || strings.Contains(name, " -> ") {
		return false
	}
	files := headers(a.Text)
	return len(files) == 1 && (files[0] == "create "+name || files[0] == "update "+name)
}

// headers returns the lines above the diffs of the call's files, such as "update NAME". The lines of a
// diff have a deeper indent.
func headers(text string) (out []string) {
	for line := range strings.SplitSeq(text, "\n") {
		line, ok := strings.CutPrefix(line, "  ")
		if !ok || strings.HasPrefix(line, " ") || !strings.HasSuffix(line, ":") {
			continue
		}
		switch kind, _, _ := strings.Cut(line, " "); file.ChangeKind(kind) {
		case file.Create, file.Update, file.Delete, file.Move:
			out = append(out, strings.TrimSuffix(line, ":"))
		}
	}
	return out
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
