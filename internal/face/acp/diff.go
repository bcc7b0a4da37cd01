package acp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/settle-agent/settle/tool/file"
)

// changes are what a call did, or would do, to files.
func changes(detail json.RawMessage) []file.Change {
	var d file.Changes
	if len(detail) == 0 || json.Unmarshal(detail, &d) != nil {
		return nil
	}
	return d.Files
}

// diffs are changes as the protocol has them: for each place that changed, the
// text before and after, with the lines around it.
func (c *call) diffs(detail json.RawMessage) (out []object) {
	for _, change := range changes(detail) {
		path := c.absolute(change.Path)
		found := hunks(change.Diff)
		for _, h := range found {
			diff := object{"type": "diff", "path": path, "oldText": h.before, "newText": h.after}
			if change.Kind == "create" {
				diff["oldText"] = nil
			}
			out = append(out, diff)
		}
		if len(found) == 0 || change.Cut {
			out = append(out, block1(summary(change)))
		}
	}
	return out
}

// summary is a change that cannot be shown, or not all of it.
func summary(c file.Change) string {
	words := fmt.Sprintf("%s %s (+%d -%d lines)", c.Kind, c.Path, c.Added, c.Removed)
	if c.From != "" {
		words += " from " + c.From
	}
	return words
}

// hunk is a place in a file that changed.
type hunk struct{ before, after string }

// hunks reads a unified diff.
func hunks(diff string) (out []hunk) {
	var before, after strings.Builder
	inside := false
	end := func() {
		if inside && (before.Len() > 0 || after.Len() > 0) {
			out = append(out, hunk{before.String(), after.String()})
		}
		before.Reset()
		after.Reset()
	}
	last := []*strings.Builder{}
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@"):
			end()
			inside = true
		case !inside:
		case strings.HasPrefix(line, "+"):
			last = []*strings.Builder{&after}
		case strings.HasPrefix(line, "-"):
			last = []*strings.Builder{&before}
		case strings.HasPrefix(line, " "):
			last = []*strings.Builder{&before, &after}
		case strings.HasPrefix(line, `\`): // no newline at the end of the file
			trimNewline(last)
			continue
		}
		if inside && line[0] != '@' {
			for _, b := range last {
				b.WriteString(line[1:])
			}
		}
	}
	end()
	return out
}

func trimNewline(all []*strings.Builder) {
	for _, b := range all {
		text := strings.TrimSuffix(b.String(), "\n")
		b.Reset()
		b.WriteString(text)
	}
}
