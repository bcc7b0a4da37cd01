package main

import (
	"fmt"
	"strings"
)

// command is the description of a command in "settle help --json".
type command struct {
	Name, Usage, Short, Long, Example string
	Flags                             []struct{ Name, Shorthand, Value, Usage, Default string }
	Commands                          []command
}

// manual returns a page for a command and for each below it (man-pages(7)).
func (r *release) manual(c command) []file {
	name := strings.ReplaceAll(c.Name, " ", "-")
	var b strings.Builder
	fmt.Fprintf(
		&b, ".TH %s 1 %s \"settle %s\" \"settle manual\"\n", quoted(strings.ToUpper(name)), r.at.Format("2006-01-02"),
		r.version,
	)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", roff(c.Usage))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(c.Long))
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	if len(c.Flags) > 0 {
		b.WriteString(".SH OPTIONS\n")
	}
	for _, f := range c.Flags {
		short := ""
		if f.Shorthand != "" {
			short = fmt.Sprintf("\\fB\\-%s\\fR, ", roff(f.Shorthand))
		}
		fmt.Fprintf(&b, ".TP\n%s\\fB\\-\\-%s\\fR", short, roff(f.Name))
		if f.Value != "" {
			fmt.Fprintf(&b, " \\fI%s\\fR", roff(f.Value))
		}
		fmt.Fprintf(&b, "\n%s", roff(f.Usage))
		if f.Default != "" {
			fmt.Fprintf(&b, " (default %s)", roff(f.Default))
		}
		b.WriteString("\n")
	}
	var related []string
	if parent := strings.LastIndex(name, "-"); strings.Contains(c.Name, " ") && parent > 0 {
		related = append(related, strings.ReplaceAll(c.Name[:strings.LastIndex(c.Name, " ")], " ", "-"))
	}
	for _, sub := range c.Commands {
		related = append(related, strings.ReplaceAll(sub.Name, " ", "-"))
	}
	for n, page := range related {
		related[n] = fmt.Sprintf("\\fB%s\\fR(1)", roff(page))
	}
	if len(related) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(related, ",\n"))
	}
	files := []file{{"man/" + name + ".1", []byte(b.String()), 0o644}}
	for _, sub := range c.Commands {
		files = append(files, r.manual(sub)...)
	}
	return files
}

// roff returns text as roff prints it literally.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", `\&...`, "“", `"`, "”", `"`, "→", `\(->`).Replace(text)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for n, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[n] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
