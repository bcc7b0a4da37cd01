package oneturn

import (
	"context"
	"encoding/json"
	"io"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// Options configure a run.
type Options struct {
	Host *settle.Host
	// Session is the id of the session, which is created if there is none; ""
	// makes a new one. It works by Config.
	Session string
	// Imported reports that the session was just imported from a file.
	Imported bool
	Config   settle.SessionConfig
	Prompt   string
	// Continue, if set, returns the prompt for the opened session instead of Prompt. An error
	// refuses the session.
	Continue func(event.State) (prompt string, err error)
	// Expand, if set, returns the expansion of the prompt in the session.
	Expand func(*settle.Session) func(ctx context.Context, text string) (string, []event.Image, error)
	// Attached are the files of the prompt.
	image.Attached
	// HeldCall, if set, is a verdict about a held call, which is submitted instead of a prompt.
	HeldCall *event.HeldVerdict
	// Schema, if set, is the JSON Schema of the answer.
	Schema json.RawMessage

	// Stdout is watched for its reader going away if it is an *os.File.
	Stdout, Stderr io.Writer
	// Stops bring signals. The second one skips the grace of running calls;
	// the third gives up waiting for anything.
	Stops <-chan stdio.Stop
	// Verbose also reports how to continue after a success.
	Verbose bool
	// Resume is the command that continues the session, for people; "" if it
	// is not kept.
	Resume func(session string) string

	// Planned, if set, is the command that carries out the plan that is the turn's answer.
	Planned func(session string) string

	// Check, if set, returns why the final answer is invalid. The turn has completed then,
	// but the run fails.
	Check func(answer string) error
	// Answer, if set, keeps the final answer of a turn that completed.
	Answer func(text string) error
	// Failed, if set, receives the cause if the turn did not complete or has no valid answer,
	// in one line, masked.
	Failed func(cause string)
	// Opened, if set, is called when the session is open, before its turn.
	Opened func(*settle.Session)
	// Ended, if set, is called after the turn has ended and its output is written, while
	// the session is still open.
	Ended func(*settle.Session)
	// Exit, if set, ends the process; it is called if the turn has ended and
	// something other than a reader of Stdout is in the way.
	Exit func(code int)
	// Mask masks secrets in messages on standard error; nil masks nothing.
	Mask func(string) string
}

// Stage has the outputs on which a view shows a turn.
type Stage struct {
	Out, Err *stdio.Output
	// Write writes the bytes that add appends to Out, and neutralises control characters.
	// It waits while the reader is slow.
	Write func(add func([]byte) []byte)
	// Done closes when the view must not show anything further.
	Done <-chan struct{}
}

// View shows a turn.
type View interface {
	// Follow returns a function that shows the session from the cursor on, until the end of
	// its next turn. Follow reads the earlier state of the session at once.
	Follow(ctx context.Context, session *settle.Session, cursor uint64) (show func() error)
	// Finish shows the final answer, "" if there is none.
	Finish(answer string)
	// Fail reports why the end of the turn will not be shown: the turn did not begin, or
	// the run did not wait for its end.
	Fail(message string)
	// Last returns the final output, printed when everything has ended and other processes
	// can open the session: a client that reads it can continue at once. It is called once,
	// after all other methods.
	Last() []byte
}

// StderrView is a view that also uses standard error.
type StderrView interface {
	View
	// Clear makes room for a line.
	Clear()
	// Close reports how the turn ended, and the command that resumes the session if the log
	// is kept. It returns whether it reported anything.
	Close(resume string) bool
}

// Changes is [View.Follow] for a view of changes.
func Changes(
	ctx context.Context, session *settle.Session, cursor uint64, mode transcript.Mode, show func(transcript.Change),
) func() error {
	changes := transcript.Follow(ctx, session, cursor, mode)
	return func() error {
		for c, err := range changes {
			if err != nil {
				return err
			}
			if show(c); c.Thing == transcript.Turn && c.What == transcript.Ended {
				return nil
			}
		}
		return nil
	}
}
