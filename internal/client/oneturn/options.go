package oneturn

import (
	"context"
	"encoding/json"
	"io"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// Options say what to run, and what becomes of it.
type Options struct {
	Host *settle.Host
	// Session is the id of the session, which is created if there is none; ""
	// makes a new one. It works by Config.
	Session string
	// Imported says that the session was just made of a file.
	Imported bool
	Config   settle.SessionConfig
	Prompt   string
	// Expand, if set, says what the prompt stands for in the session.
	Expand func(*settle.Session) func(ctx context.Context, text string) (string, []event.Image, error)
	Images []event.Image
	// Schema, if set, is a JSON Schema that the answer is to follow.
	Schema json.RawMessage

	// Stdout is watched for its reader going away if it is an *os.File.
	Stdout, Stderr io.Writer
	// Stops bring signals. The second one skips the grace of running calls;
	// the third gives up waiting for anything.
	Stops <-chan stdio.Stop
	// Attended says that a person looks on: there are no lines for programs on
	// standard error. Verbose says how to continue also where all went well.
	Attended, Verbose bool
	// Resume is the command that continues the session, for people; "" if it
	// is not kept.
	Resume func(session string) string

	// Check, if set, says what is wrong with the final answer. The turn has
	// completed then, and the run fails all the same.
	Check func(answer string) error
	// Answer, if set, keeps the final answer of a turn that completed.
	Answer func(text string) error
	// Ended, if set, is called when the turn has ended and what was shown is
	// out, with the session still open.
	Ended func(*settle.Session)
	// Exit, if set, ends the process; it is called if the turn has ended and
	// something other than a reader of Stdout is in the way.
	Exit func(code int)
	// Mask masks secrets in what is said on standard error; nil for none.
	Mask func(string) string
}

// Stage is where a view shows a turn.
type Stage struct {
	Out, Err *stdio.Output
	// Write writes to Out what add appends, of which a terminal obeys nothing. It
	// waits while the reader is slow.
	Write func(add func([]byte) []byte)
	// Done is closed when nothing is to be shown any more.
	Done <-chan struct{}
}

// View shows a turn.
type View interface {
	// Follow returns what shows the session from the cursor on, up to the end of
	// its next turn. What is to be known of the session before is read at once.
	Follow(ctx context.Context, session *settle.Session, cursor uint64) (show func() error)
	// Finish shows the final answer, "" if there is none.
	Finish(answer string)
	// Fail says why it will never be shown how the turn ended: it did not
	// begin, or nobody waited for its end.
	Fail(message string)
	// Last returns what is printed when everything has ended and the session
	// can be opened by others: a client that reads it may go on at once. It is
	// called after the others, once.
	Last() []byte
}

// Screen is a view that also uses standard error.
type Screen interface {
	View
	// Clear makes room for a line.
	Clear()
	// Close says how the turn ended, and with which command the session goes on,
	// if it is kept. It reports whether it did.
	Close(resume string) bool
}

// Changes is [View.Follow] for a view of changes.
func Changes(ctx context.Context, session *settle.Session, cursor uint64, mode transcript.Mode, show func(transcript.Change)) func() error {
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
