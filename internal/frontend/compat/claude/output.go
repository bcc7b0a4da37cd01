package claude

import (
	"fmt"
	"strings"

	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/terminal"
)

// outputs are the client's two outputs: messages, and lines for people.
type outputs struct {
	out lines
	err *stdio.Output
}

// mask replaces secrets in a text for people.
func (d *driver) mask(text string) string {
	if d.session != nil {
		text = d.session.Agent.Redact.Diagnostic(text)
	}
	if d.Mask != nil {
		text = d.Mask(text)
	}
	return text
}

// say prints one line on standard error.
func (d *driver) say(format string, a ...any) {
	d.err.Add("settle: " + terminal.Text(strings.TrimSpace(d.mask(fmt.Sprintf(format, a...)))) + "\n")
}

// warn writes a warning on both outputs.
func (d *driver) warn(text string) {
	d.say("warning: %s", text)
	d.out.send(
		newNotice(d.id, "informational", map[string]any{"content": "settle: " + d.mask(text), "level": "warning"}),
	)
}
