package prompt

import (
	"strings"
	"time"
)

// Options configure the prompt.
type Options struct {
	// Dir is the absolute working directory.
	Dir string
	// GOOS is the platform.
	GOOS string
	// Now is the current time; the prompt contains its day, in its own time zone.
	Now time.Time
	Sources
	// User are the user's own instruction files. Only the first file with content in each
	// list is read.
	User [][]string
	// Skills is the section about skills; empty for none.
	Skills string
	// Replace, if set, replaces settle's own words and the environment.
	Replace *string
	// Append is the end of the prompt.
	Append string
}

// Prompt is a system prompt.
type Prompt struct {
	Text string
	// Files are the user's and the project's files in the prompt.
	Files []string
	// Notes tell the user what was cut or omitted, and why.
	Notes []string

	seen    map[string]bool // files already read, without links
	imports int             // number of imports
}

// User returns the section with the user's own instructions alone.
func User(o Options) Prompt {
	var p Prompt
	p.Text = strings.TrimSpace(clean(p.user(o)))
	return p
}

// Build writes the system prompt. It cannot fail: it omits unreadable files and adds a
// note. It runs no program, because a repository's configuration can name programs that git
// would start.
func Build(o Options) Prompt {
	var p Prompt
	var parts []string
	if o.Replace != nil {
		parts = append(parts, *o.Replace)
	} else {
		parts = append(parts, own, environment(o))
	}
	p.Notes = append(p.Notes, o.Project.Notes...)
	parts = append(parts, p.user(o), p.project(o.Sources), o.Skills, o.Append)
	var filled []string
	for _, part := range parts {
		if part = strings.TrimSpace(clean(part)); part != "" {
			filled = append(filled, part)
		}
	}
	p.Text = strings.Join(filled, "\n\n")
	return p
}

// clean makes a text valid UTF-8 with plain line ends.
func clean(text string) string {
	text = strings.TrimPrefix(strings.ToValidUTF8(text, "\uFFFD"), "\ufeff")
	return strings.ReplaceAll(text, "\r\n", "\n")
}
