package review

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// maxComments bounds the comments of one review.
	maxComments = 50
	// maxCommentText, maxCell and maxTable bound, in bytes, the text of a comment, of a cell of
	// the summary's table, and the table. GitHub takes comments of 65,536 characters.
	maxCommentText, maxCell, maxTable = 16 << 10, 1 << 10, 48 << 10

	summaryName = "summary.md"
)

// Comments writes a folder that scripts of CI systems publish without a JSON parser: summary.md,
// and for each finding in a reviewed file, NNN.md (its text), NNN.path and NNN.line. The folder
// must be missing, empty, or from an earlier review, whose files are replaced.
func (r Report) Comments(dir string) error {
	files := map[string]string{summaryName: r.markdown()}
	count := 0
	for _, f := range r.Findings {
		if f.Outside {
			continue
		}
		if count++; count > maxComments {
			break
		}
		name := fmt.Sprintf("%03d", count)
		files[name+".md"] = fmt.Sprintf("**%s**\n\n%s", f.Severity, quote(bound.Clip(f.Text, maxCommentText)))
		files[name+".path"] = terminal.OneLine(bound.Clip(f.File, maxCell))
		files[name+".line"] = strconv.Itoa(f.Line)
	}
	return write(dir, files)
}

// quote returns the model's text as a block quote. CI systems publish comments with a token
// that can write, and GitLab runs lines that begin with a slash as commands.
func quote(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		b.WriteString("> " + line)
	}
	return b.String()
}

// FailureComment writes the folder of a review that did not complete: summary.md alone.
func FailureComment(dir, outcome, reason string) error {
	return write(dir, map[string]string{
		summaryName: fmt.Sprintf("settle review %s, and has no findings: %s\n", outcome, terminal.OneLine(reason)),
	})
}

// markdown is the whole report as Markdown.
func (r Report) markdown() string {
	var b strings.Builder
	count := ", " + r.count()
	if r.Nothing {
		count = ""
	}
	fmt.Fprintf(&b, "settle review%s: %s\n", count, terminal.OneLine(bound.Clip(r.Summary, maxCommentText/2)))
	cell := func(text string) string {
		return strings.ReplaceAll(terminal.OneLine(bound.Clip(text, maxCell)), "|", `\|`)
	}
	for n, f := range r.Findings {
		if b.Len() > maxTable {
			fmt.Fprintf(&b, "\n… %d more\n", len(r.Findings)-n)
			break
		}
		if n == 0 {
			b.WriteString("\n| File | Line | Severity | Text |\n| --- | --- | --- | --- |\n")
		}
		line := "–"
		if f.Line > 0 {
			line = strconv.Itoa(f.Line)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(f.shown()), line, f.Severity, cell(f.Text))
	}
	return b.String()
}
