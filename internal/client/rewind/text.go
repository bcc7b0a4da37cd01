package rewind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// maxUncovered is the number of listed commands and children, and widest the number of shown
	// characters of each.
	maxUncovered = 12
	widest       = 100
	maxFiles     = 60 // are listed of a plan
	maxInput     = 60 // characters of an input
	maxRestored  = 20 // are named of a result
)

// ShortInput returns the beginning of the input, for people.
func (p *Plan) ShortInput() string {
	line, _, _ := strings.Cut(p.Input, "\n")
	return terminal.Short(terminal.OneLine(line), maxInput)
}

// UndoTitle returns the title of a plan from [ReadSnapshot], with the rewind that it undoes or
// repeats.
func (p *Plan) UndoTitle() string {
	what := "Undo the rewind of %s to before: %s"
	if p.kind == kindRewind {
		what = "Repeat the rewind that was undone at %s, to before: %s"
	}
	return fmt.Sprintf(what, p.At.Local().Format("2006-01-02 15:04"), p.ShortInput())
}

// Lines describes the plan for people. Control characters are neutralised.
func (p *Plan) Lines() []string {
	var out []string
	width := 0
	for _, f := range p.Files {
		width = max(width, len(f.Do))
	}
	if len(p.Changes()) > 0 {
		out = append(out, "  in "+terminal.OneLine(p.Dir)+":")
	}
	by := ""
	for _, f := range p.grouped() {
		if name := terminal.Short(terminal.OneLine(strings.Join(f.By, " or ")), widest); name != by {
			by = name
			out = append(out, "  by "+by+":")
		}
		out = append(out, f.line(width))
	}
	if more := len(p.Files) - maxFiles; more > 0 {
		out = append(out, fmt.Sprintf("  … and %d more", more))
	}
	if len(p.Files) == 0 {
		out = append(out, "  settle's tools changed no files since")
	}
	if note := p.Note(); note != "" {
		out = append(out, note)
	}
	if len(p.Uncovered) == 0 {
		return out
	}
	out = append(out, "Not covered, with unknown changes to files:")
	return append(out, uncovered(p.Uncovered)...)
}

// grouped returns the first files, at most maxFiles: first the changes of the file tools, then the
// changes of each command.
func (p *Plan) grouped() []File {
	all := slices.Clone(p.Files[:min(len(p.Files), maxFiles)])
	order := map[string]int{"": 0}
	rank := func(f File) int {
		by := strings.Join(f.By, "\n")
		if _, known := order[by]; !known {
			order[by] = len(order)
		}
		return order[by]
	}
	for _, f := range all {
		rank(f)
	}
	slices.SortStableFunc(all, func(a, b File) int { return rank(a) - rank(b) })
	return all
}

// line describes one file; width is the width of the actions.
func (f *File) line(width int) string {
	line := fmt.Sprintf("  %-*s  %s", width, f.Do, terminal.OneLine(f.Path))
	if isDirectory(f.Was) || isDirectory(f.Left) {
		line += "/"
	}
	if f.Real != "" {
		line += " → " + terminal.OneLine(f.Real)
	}
	if f.Why != "" {
		return line + "  (" + terminal.OneLine(f.Why) + ")"
	}
	if f.Between {
		line += "  (another program changed it in between; that change is undone as well)"
	}
	return line
}

// Note describes the changes by commands that are never recorded; empty if no command ran.
func (p *Plan) Note() string {
	if p.Commands == 0 {
		return ""
	}
	return "Not recorded: what commands changed outside of the directory, in .git, in directories that .gitignore " +
		"excludes, in node_modules, .venv and __pycache__, and files whose names are not UTF-8."
}

func uncovered(all []Uncovered) (out []string) {
	seen := map[Uncovered]bool{}
	all = slices.DeleteFunc(slices.Clone(all), func(u Uncovered) bool {
		defer func() { seen[u] = true }()
		return seen[u]
	})
	for _, u := range all[:min(len(all), maxUncovered)] {
		text := terminal.Short(terminal.OneLine(u.Text), widest)
		switch u.Kind {
		case Command:
			text = "$ " + text
		case Child:
			text = "child agent: " + text
		case Call:
			if u.Why == "" {
				text += " (it was interrupted, and its effect was not recorded)"
			}
		}
		if u.Why != "" {
			text += " (" + terminal.OneLine(u.Why) + ")"
		}
		out = append(out, "  "+text)
	}
	if more := len(all) - maxUncovered; more > 0 {
		out = append(out, fmt.Sprintf("  … and %d more", more))
	}
	return out
}

// Line returns the result of the rewind, for people.
func (r Report) Line() string {
	if len(r.Restored) == 0 {
		return "no file was changed"
	}
	return fmt.Sprintf("restored %s: %s", terminal.Count(len(r.Restored), "file"), namesOf(r.Restored))
}

// namesOf returns the first paths, and the number of the others.
func namesOf(files []File) string {
	var names []string
	for _, f := range files[:min(len(files), maxRestored)] {
		names = append(names, terminal.OneLine(f.Path))
	}
	if more := len(files) - maxRestored; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
