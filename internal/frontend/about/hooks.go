package about

import (
	"io"
	"time"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
)

// hookLine is a hook as JSON.
type hookLine struct {
	Event     string `json:"event"`
	Matcher   string `json:"matcher,omitempty"`
	Command   string `json:"command"`
	TimeoutMS int64  `json:"timeout_ms"`
	State     string `json:"state"` // ok, untrusted, broken
	Error     string `json:"error,omitempty"`
	From      string `json:"from"`
}

func hookLines(list []assemble.ConfiguredHook, mask *redact.Redactor) (lines []hookLine) {
	for _, h := range list {
		lines = append(lines, hookLine{
			Event: string(
				h.Event,
			),
			Matcher:   h.Matcher,
			Command:   mask.Diagnostic(h.Line()),
			TimeoutMS: h.Limit.Milliseconds(),
			State:     h.State,
			Error:     h.Broken,
			From:      h.Origin.String(),
		})
	}
	return lines
}

// HooksJSON writes the hooks, one JSON object a line.
func HooksJSON(to io.Writer, list []assemble.ConfiguredHook, mask *redact.Redactor) error {
	return listing.JSON(to, hookLines(list, mask))
}

// Hooks writes a table of the hooks. Secrets are masked.
func Hooks(to io.Writer, list []assemble.ConfiguredHook, mask *redact.Redactor) error {
	if len(list) == 0 {
		return nil
	}
	rows := [][]string{{"EVENT", "FOR", "STATE", "TIMEOUT", "FROM", "COMMAND"}}
	for _, l := range hookLines(list, mask) {
		about := l.Matcher
		if about == "" {
			about = "all"
		}
		rows = append(rows, []string{
			l.Event, terminal.Short(about, 24), l.State, terminal.Duration(
				time.Duration(l.TimeoutMS) * time.Millisecond,
			), l.From, terminal.OneLine(l.Command),
		})
	}
	return listing.Table(to, rows)
}
