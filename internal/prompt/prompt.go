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
	// Parts are the parts of Text, in order. An executor does not send them.
	Parts []Part `json:"-"`
	// Files are the user's and the project's files in the prompt.
	Files []string
	// Notes tell the user which parts were cut or omitted, and why.
	Notes []string

	seen    map[string]bool // files already read, without links
	imports int             // number of imports
}

// Part is a part of a prompt.
type Part struct{ Name, Text string }

// join sets Parts and Text from the parts that have text.
func (p *Prompt) join(parts ...Part) {
	var texts []string
	for _, part := range parts {
		if part.Text = strings.TrimSpace(clean(part.Text)); part.Text != "" {
			p.Parts, texts = append(p.Parts, part), append(texts, part.Text)
		}
	}
	p.Text = strings.Join(texts, "\n\n")
}

// Join returns the prompt with these parts, and the files and notes of p.
func (p Prompt) Join(parts ...Part) Prompt {
	p.Parts = nil
	p.join(parts...)
	return p
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
	parts := []Part{{PartOwn, Own(Others)}, {"environment", environment(o)}}
	if o.Replace != nil {
		parts = []Part{{"replacement", *o.Replace}}
	}
	p.Notes = append(p.Notes, o.Project.Notes...)
	p.join(append(parts, Part{PartUser, p.user(o)}, Part{"project's instructions", p.project(o.Sources)},
		Part{"skills", o.Skills}, Part{PartAppended, o.Append})...)
	return p
}

// clean makes a text valid UTF-8 with plain line ends.
func clean(text string) string {
	text = strings.TrimPrefix(strings.ToValidUTF8(text, "\uFFFD"), "\ufeff")
	return strings.ReplaceAll(text, "\r\n", "\n")
}
