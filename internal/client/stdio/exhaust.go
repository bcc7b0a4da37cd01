package stdio

import (
	"context"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/run"
)

// exhaust is the line for programs about exhausted retries.
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

// maxBody is the number of characters of the provider's response that a message quotes.
const maxBody = 500

// ObserveExhausted returns an observer that passes write the line of each turn whose retries
// are exhausted, also of child agents. write must not block.
func ObserveExhausted(write func(line string)) run.Observer {
	return run.Observer{Turn: func(ctx context.Context, _ event.Event) (context.Context, func(event.Event)) {
		return ctx, func(ended event.Event) {
			failed, ok := ended.Data.(event.TurnFailed)
			if ok && failed.Failure.Name == event.NameRetryExhausted {
				asLogged := func(text string) string { return text } // which is redacted
				write(terminal.JSON(ExhaustLine(ended.Session, ended.Turn, failed.Failure, asLogged)) + "\n")
			}
		}
	}}
}

// ExhaustMark begins each line that states that the retries of a turn are exhausted.
const ExhaustMark = "[retry-exhaust] "

// ExhaustLine returns the line for programs, on standard error, about the exhausted retries of a
// turn; without its end.
func ExhaustLine(session, turn string, f *event.Failure, mask func(string) string) string {
	body := []rune(mask(f.Body))
	line := exhaust{
		Session: session, Turn: turn, Status: f.Status, URL: mask(f.URL), Body: string(body[:min(len(body), maxBody)]),
		Attempt: f.Attempt, RetryLimit: f.RetryLimit, Error: f.Name, Message: mask(f.Message),
	}
	raw, _ := event.AppendJSON([]byte(ExhaustMark), line) // strings and numbers always encode
	return string(raw)
}
