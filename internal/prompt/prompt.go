package prompt

import (
	"context"
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
	// Git runs git; nil if there is none.
	Git Git
	// Project says whether the project's own files are read.
	Project Project
	// Replace, if set, stands in the place of settle's own words and of the
	// environment.
	Replace *string
	// Append comes last.
	Append string
}

// Project says whether the project's own files are read.
type Project string

// The values; the zero value is ReadProject.
const (
	ReadProject   Project = ""
	IgnoreProject Project = "ignore" // --no-project-config
)

// Prompt is a system prompt.
type Prompt struct {
	Text string
	// Files are the project's files that are part of it.
	Files []string
	// Notes are for the user: what was cut or left out, and why.
	Notes []string
}

// Build writes the system prompt. It does not fail: what cannot be read is
// left out and noted. It takes no longer than two seconds for git.
func Build(ctx context.Context, o Options) Prompt {
	var p Prompt
	var parts []string
	if o.Replace != nil {
		parts = append(parts, *o.Replace)
	} else {
		parts = append(parts, own, environment(ctx, o))
	}
	if o.Project != IgnoreProject {
		parts = append(parts, p.project(o.Dir))
	}
	parts = append(parts, o.Append)
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
