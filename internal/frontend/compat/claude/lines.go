package claude

import (
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// lines is standard output. format selects the written messages and their form.
type lines struct {
	*stdio.Output

	format Format
}

// send adds a message. It never waits.
func (l lines) send(message any) { l.Add(l.format.render(message)) }

// render returns the output for a message in the format; "" if the format leaves the message out.
func (f Format) render(message any) string {
	r, isResult := message.(result)
	switch {
	case f == Text && isResult && r.Result != nil:
		return *r.Result + "\n"
	case f == Text, f == JSON && !isResult:
		return ""
	}
	line, _ := jsonrpc.Append(nil, message) // there is no message that is none
	return string(line)
}
