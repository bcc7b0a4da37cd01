package stdio

import (
	"bytes"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// exhaust is the line that tells programs that the retries are exhausted.
type exhaust struct {
	Session    string `json:"session"`
	Turn       string `json:"turn"`
	Status     int    `json:"status"`
	URL        string `json:"url"`
	Body       string `json:"body"`
	Attempt    int    `json:"attempt"`
	RetryLimit int    `json:"retryLimit"`
	Error      string `json:"error"`
	Message    string `json:"message"`
}

// maxBody is how many characters of the provider's response a message quotes.
const maxBody = 500

// ExhaustLine is the line that tells programs, on standard error, that the
// retries of a turn are exhausted; without its end.
func ExhaustLine(session, turn string, f *event.Failure, mask func(string) string) string {
	body := []rune(mask(f.Body))
	line := exhaust{
		Session: session, Turn: turn, Status: f.Status, URL: mask(f.URL), Body: string(body[:min(len(body), maxBody)]),
		Attempt: f.Attempt, RetryLimit: f.RetryLimit, Error: f.Name, Message: mask(f.Message),
	}
	raw, _ := jsonrpc.Append(nil, line) // strings and numbers always encode
	return "[retry-exhaust] " + string(bytes.TrimSpace(raw))
}
