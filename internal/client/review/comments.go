package review

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// maxComments bounds the comments of one review.
	maxComments = 50
	// maxCommentText, maxCell and maxTable bound, in bytes, the text of a comment, of a cell of
	// the summary's table, and the table. GitHub takes comments of 65,536 characters.
	maxCommentText, maxCell, maxTable = 16 << 10, 1 << 10, 48 << 10
)

// Comments writes a folder that scripts of CI systems publish without a JSON parser:
// summary.md, and for each finding NNN.md (its text), NNN.path and NNN.line.
func (r Report) Comments(dir string) error {
	files := map[string]string{"summary.md": r.markdown()}
	for n, f := range r.Findings[:min(len(r.Findings), maxComments)] {
		name := fmt.Sprintf("%03d", n+1)
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
		"summary.md": fmt.Sprintf("settle review %s, and has no findings: %s\n", outcome, terminal.OneLine(reason)),
	})
}

func write(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot write the comments: %w", err)
	}
	// Scripts publish all files of the folder: an earlier review's must not remain.
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot write the comments: %w", err)
	}
	for _, e := range entries {
		if !commentName().MatchString(e.Name()) || files[e.Name()] != "" {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("cannot remove an earlier review's comment: %w", err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write the comments: %w", err)
		}
	}
	return nil
}

// commentName matches the names of the files of findings.
var commentName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{3}\.(md|path|line)$`) },
)

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
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(f.File), line, f.Severity, cell(f.Text))
	}
	return b.String()
}
