package jsonrpc

import "github.com/settle-agent/settle/event"

// Append appends the value as a line with its newline, as [event.AppendJSON] encodes it. With an
// error nothing is appended.
func Append(b []byte, value any) ([]byte, error) {
	b, err := event.AppendJSON(b, value)
	if err != nil {
		return b, err
	}
	return append(b, '\n'), nil
}
