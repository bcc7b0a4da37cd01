package review

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
)

// maxComments bounds the comments of one review; the summary has all findings.
const maxComments = 50

// Comments writes a folder that scripts of CI systems publish without a JSON parser:
// summary.md, and for each finding NNN.md (its text), NNN.path and NNN.line.
func (r Report) Comments(dir string) error {
	files := map[string]string{"summary.md": r.markdown()}
	for n, f := range r.Findings[:min(len(r.Findings), maxComments)] {
		name := fmt.Sprintf("%03d", n+1)
		files[name+".md"] = fmt.Sprintf("**%s**: %s\n", f.Severity, strings.TrimSpace(f.Text))
		files[name+".path"], files[name+".line"] = terminal.OneLine(f.File), strconv.Itoa(f.Line)
	}
	return write(dir, files)
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
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write the comments: %w", err)
		}
	}
	return nil
}

// markdown is the whole report as Markdown.
func (r Report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "settle review, %s: %s\n", r.count(), terminal.OneLine(r.Summary))
	cell := func(text string) string { return strings.ReplaceAll(terminal.OneLine(text), "|", `\|`) }
	for n, f := range r.Findings {
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
