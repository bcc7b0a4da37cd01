// Package review has the prompt of a code review and the form of its findings, for the
// terminal's /review and for settle review.
//
//	what to review ─► Request ─► a turn whose answer follows Schema ─► Parse ─► Report
//	                                                              table, JSON, comments ◄┘
//
// A report is complete or an error: a review never ends without a word. Read review.go
// first; comments.go has the findings for the scripts of CI systems, folder.go writes them.
package review

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/terminal"
)

// Default describes the reviewed changes if the user does not choose any.
const Default = "the changes of this working tree that are not committed (git status " + submodules + ", git diff " +
	submodules + " HEAD, and new files); if there are none, the last commit (git show " + submodules +
	" --first-parent HEAD)"

// submodules is git's option to show changes of submodules, also if the repository's .gitmodules
// has git ignore them.
const submodules = "--ignore-submodules=none"

const prompt = `Review %s. Look at the diff first, then read the code around it. Change nothing.

Report, the most serious first, only problems that the author would want to correct: wrong behaviour, lost data, races, security, missing error handling, missing or wrong tests, documentation that is no longer true. %s Say how sure you are where you could not check it. If there is no such problem, say so in one sentence. If you could not read the diff, say that first: files without it are no review.`

// maxFiles bounds the list of changed files in a prompt, in bytes.
const maxFiles = 8 << 10

// Prompt returns the prompt of a review whose answer is a table for people.
func Prompt(what string) string {
	return fmt.Sprintf(prompt, what, "Answer with a table: file, line, severity (critical, high, medium or low), and "+
		"text: what goes wrong and for which input, and a suggested change.")
}

// Request returns the prompt of a review whose answer follows [Schema]. The files are lines of git's
// list of changed files; none if they are not known.
func Request(what string, files []string) string {
	text := fmt.Sprintf(prompt, what, "Answer in JSON. For each problem give: file, relative to the top of the "+
		"repository; line, a line of the new text, or 0 for the whole file; severity; and text: what goes wrong "+
		"and for which input, and a suggested change. The summary is one or two sentences.")
	if len(files) > 0 {
		text += "\n\nThe changed files, by git:\n" + list(files)
	}
	return text
}

// list returns the first lines, and the number of the others.
func list(lines []string) string {
	var b strings.Builder
	for n, line := range lines {
		if b.Len()+len(line) > maxFiles {
			fmt.Fprintf(&b, "… %d more\n", len(lines)-n)
			break
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// Since describes the changes since a base and its commit; "" if the commit is not known.
func Since(base, commit string) string {
	if commit != "" {
		return fmt.Sprintf(
			"the changes between the commit %s (%q) and the working tree (%s)", commit, base, since(commit),
		)
	}
	return fmt.Sprintf("the changes between %s and the working tree (%s)", base, since(base))
}

// since returns the commands that show the changes since a base.
func since(base string) string {
	return fmt.Sprintf("git diff %[2]s %[1]s...HEAD, git diff %[2]s HEAD", base, submodules)
}

// Range is the difference between two commits in the notation of git diff, FROM..TO or FROM...TO.
type Range struct {
	From, To string
	// FromAncestor is set for three dots: the range begins at the newest common ancestor.
	FromAncestor bool
}

// RangeOf returns the range that the words of a review are; ok is false for other words, such as a
// path with "..", or a place in a file. A missing end is HEAD.
func RangeOf(words string) (r Range, ok bool) {
	from, to, found := strings.Cut(words, "..")
	to, r.FromAncestor = strings.CutPrefix(to, ".")
	isPath := strings.HasPrefix(from, ".") || strings.HasSuffix(from, "/") || strings.Trim(to, "./") != to
	if !found || from == "" || isPath || r.FromAncestor && to == "" || strings.ContainsAny(words, ": \t\r\n") ||
		strings.Contains(to, "..") {
		return Range{}, false
	}
	r.From, r.To = from, cmp.Or(to, "HEAD")
	return r, true
}

// Between describes the changes of a range whose ends are the commits first and last.
func Between(words, first, last string) string {
	return fmt.Sprintf("the difference %q between two commits (git diff %s %s %s)", words, submodules, first, last)
}

// CheckBase refuses a text that cannot be the name of a commit: the prompt has it in a command.
func CheckBase(base string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/@{}~^+-#"
	if strings.Trim(base, letters) != "" || strings.HasPrefix(base, "-") || strings.HasPrefix(base, "#") {
		return fmt.Errorf("cannot review the changes since %q: it is no name of a commit or branch", base)
	}
	return nil
}

// Severities, the most serious first.
func Severities() []string { return []string{"critical", "high", "medium", "low"} }

// Finding is one problem.
type Finding struct {
	File string `json:"file"`
	// Line is a line of the new text; 0 for the whole file.
	Line     int    `json:"line"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
	// Outside reports that the reviewed changes do not contain the file, so that no comment can be
	// at it.
	Outside bool `json:"outside,omitempty"`
}

// shown is the file with the mark of a file that is outside.
func (f Finding) shown() string {
	if f.Outside {
		return cmp.Or(f.File, "no file") + " (outside)"
	}
	return f.File
}

// Report is the result of a review.
type Report struct {
	Summary  string    `json:"summary"`
	Findings []Finding `json:"findings"`
	// Nothing reports that there was nothing to review, so that no model was asked.
	Nothing bool `json:"nothing_to_review,omitempty"`
}

// Nothing is the report of a review without a change.
func Nothing(summary string) Report {
	return Report{Summary: summary, Findings: []Finding{}, Nothing: true}
}

// Schema returns the JSON Schema of a report.
func Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"summary":{"type":"string"},"findings":{"type":"array",` +
		`"items":{"type":"object","properties":{"file":{"type":"string"},"line":{"type":"integer"},` +
		`"severity":{"type":"string","enum":["` + strings.Join(Severities(), `","`) + `"]},"text":{"type":"string"}},` +
		`"required":["file","line","severity","text"],"additionalProperties":false}}},` +
		`"required":["summary","findings"],"additionalProperties":false}`)
}

// fence begins a JSON block in Markdown, and fenceEnd ends it.
const fence, fenceEnd = "```json", "```"

// Object returns the JSON of an answer: the content of its JSON block if it has one block around which there
// is text, and otherwise the answer.
func Object(answer string) string {
	if json.Valid([]byte(answer)) {
		return answer
	}
	var block []string
	blocks, within := 0, false
	for line := range strings.SplitSeq(answer, "\n") {
		switch text := strings.TrimSpace(line); {
		case !within && strings.EqualFold(text, fence):
			blocks, within = blocks+1, true
		case within && text == fenceEnd:
			within = false
		case within:
			block = append(block, line)
		}
	}
	if blocks != 1 || within {
		return answer
	}
	return strings.Join(block, "\n")
}

// Parse reads the answer of a turn. The most serious findings come first.
func Parse(answer string) (Report, error) {
	var r Report
	if err := json.Unmarshal([]byte(Object(answer)), &r); err != nil {
		return r, fmt.Errorf("cannot read the findings: %w", err)
	}
	if strings.TrimSpace(r.Summary) == "" && len(r.Findings) == 0 {
		return r, errors.New("cannot read the findings: the answer has neither a summary nor findings")
	}
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	rank := func(f Finding) int { return slices.Index(Severities(), f.Severity) }
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return rank(a) - rank(b) })
	for n := range r.Findings {
		if r.Findings[n].File != "" {
			r.Findings[n].File = path.Clean(r.Findings[n].File)
		}
		r.Findings[n].Line = max(r.Findings[n].Line, 0)
	}
	return r, nil
}

// Place is the directory of a review.
type Place struct {
	// Dirs are its absolute paths: as named, and without links.
	Dirs []string
	// Prefix is its path relative to the top of the repository, with slashes; "" for the top.
	Prefix string
}

// names returns the paths that a file of a finding can mean, relative to the top of the repository:
// models also name absolute paths, and paths relative to the directory.
func (p Place) names(file string) []string {
	if !filepath.IsAbs(file) {
		return []string{file, path.Join(p.Prefix, file)}
	}
	var all []string
	for _, dir := range p.Dirs {
		if below, err := filepath.Rel(dir, file); err == nil {
			all = append(all, path.Join(p.Prefix, filepath.ToSlash(below)))
		}
	}
	return all
}

// MarkOutside names the files of findings relative to the top of the repository, and marks the
// findings of files that has does not report.
func (r Report) MarkOutside(in Place, has func(file string) bool) {
	for n := range r.Findings {
		f := &r.Findings[n]
		all := in.names(f.File)
		i := slices.IndexFunc(all, has)
		if f.Outside = i < 0 || f.File == ""; !f.Outside {
			f.File = all[i]
		}
	}
}

// Has returns a function that reports whether a file is in git's list of changed files, or in a
// submodule of the list.
func Has(list []string) func(file string) bool {
	names := map[string]bool{}
	for _, line := range list {
		_, name, _ := strings.Cut(line, "\t")
		if plain, err := strconv.Unquote(name); err == nil && strings.HasPrefix(name, `"`) {
			name = plain
		}
		names[name] = true
	}
	return func(file string) bool {
		for ; file != "."; file = path.Dir(file) {
			if names[file] {
				return true
			}
			if file == "/" || file == "" {
				break
			}
		}
		return false
	}
}

// Table writes the findings as a table, and the summary.
func (r Report) Table(to io.Writer) error {
	rows := [][]string{{"FILE", "LINE", "SEVERITY", "TEXT"}}
	for _, f := range r.Findings {
		line := "-"
		if f.Line > 0 {
			line = strconv.Itoa(f.Line)
		}
		rows = append(rows, []string{terminal.OneLine(f.shown()), line, f.Severity, terminal.OneLine(f.Text)})
	}
	if len(r.Findings) > 0 {
		if err := listing.Table(to, rows); err != nil {
			return err
		}
	}
	summary := terminal.OneLine(r.Summary)
	if !r.Nothing {
		summary = r.count() + ": " + summary
	}
	if _, err := fmt.Fprintln(to, summary); err != nil {
		return fmt.Errorf("cannot write the summary: %w", err)
	}
	return nil
}

// count is the number of findings in words.
func (r Report) count() string {
	if len(r.Findings) == 0 {
		return "no findings"
	}
	return terminal.Count(len(r.Findings), "finding")
}
