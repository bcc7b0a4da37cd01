package prompt

import (
	"strings"
	"time"
)

// Options say what to write.
type Options struct {
	// Dir is the working directory, absolute.
	Dir string
	// GOOS names the platform.
	GOOS string
	// Now gives the day, in its own time zone.
	Now time.Time
	Sources
	// User are the user's own files of instructions. Of each list, the first that says
	// something is read.
	User [][]string
	// Skills is the section about skills; empty for none.
	Skills string
	// Replace, if set, stands in the place of settle's own words and of the
	// environment.
	Replace *string
	// Append comes last.
	Append string
}

// Prompt is a system prompt.
type Prompt struct {
	Text string
	// Files are the user's and the project's files that are part of it.
	Files []string
	// Notes are for the user: what was cut or left out, and why.
	Notes []string

	seen    map[string]bool // files that were read, without links
	imports int             // how many there were
}

// User returns only the section with the user's own instructions.
func User(o Options) Prompt {
	var p Prompt
	p.Text = strings.TrimSpace(clean(p.user(o)))
	return p
}

// Build writes the system prompt. It does not fail: what cannot be read is
// left out and noted. It runs nothing: a repository's configuration may name
// programs that git would start.
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
