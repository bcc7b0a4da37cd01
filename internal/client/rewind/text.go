package rewind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// maxUncovered is how many commands and children are listed, and widest how
	// much of each.
	maxUncovered = 12
	widest       = 100
)

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
	for _, f := range p.Files {
		line := fmt.Sprintf("  %-*s  %s", width, f.Do, terminal.OneLine(f.Path))
		if f.Real != "" {
			line += " → " + terminal.OneLine(f.Real)
		}
		if f.Why != "" {
			line += "  (" + terminal.OneLine(f.Why) + ")"
		} else if f.Between {
			line += "  (another program changed it in between; that change is undone as well)"
		}
		out = append(out, line)
	}
	if len(p.Files) == 0 {
		out = append(out, "  settle's tools changed no files since")
	}
	if len(p.Uncovered) == 0 {
		return out
	}
	out = append(out, "Not covered, with unknown changes to files:")
	return append(out, uncovered(p.Uncovered)...)
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
			text += " (it was interrupted, and its effect was not recorded)"
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
	var names []string
	for _, f := range r.Restored {
		names = append(names, terminal.OneLine(f.Path))
	}
	return fmt.Sprintf("restored %s: %s", terminal.Count(len(r.Restored), "file"), strings.Join(names, ", "))
}
