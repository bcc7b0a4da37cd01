package run

import (
	"encoding/json"
	"io"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// Format is how a turn is shown on standard output.
type Format string

// The formats.
const (
	// Plain shows the final answer alone.
	Plain Format = "plain"
	// Terminal shows the answer as it comes.
	Terminal Format = "terminal"
	// JSON shows one event a line, without deltas.
	JSON Format = "json"
	// JSONDeltas shows every event.
	JSONDeltas Format = "json-deltas"
)

// Volume is how much is said on standard error.
type Volume string

// The volumes.
const (
	// Normal says on a terminal what is going on, elsewhere only what is wrong.
	Normal Volume = ""
	// Quiet says only what is wrong.
	Quiet Volume = "quiet"
	// Verbose says what is going on, everywhere, and on a terminal what the
	// model thinks.
	Verbose Volume = "verbose"
)

// View shows a turn in another agent's words.
type View interface {
	// Show shows a change of the session, of the mode [transcript.Final].
	Show(transcript.Change)
	// Fail says why it will never be shown how the turn ended: it did not
	// begin, or nobody waited for its end.
	Fail(message string)
	// Last returns what is printed when everything has ended and the session
	// can be opened by others: a client that reads it may go on at once. It is
	// called after the others, once.
	Last() []byte
}

// Options say what to run and how to show it.
type Options struct {
	Host *settle.Host
	// Session is the id of the session, which is created if there is none; ""
	// makes a new one. It works by Config.
	Session string
	Config  settle.SessionConfig
	Prompt  string
	Images  []event.Image

	Format Format
	Volume Volume
	// Schema, if set, is a JSON Schema that the answer is to follow.
	Schema json.RawMessage
	// Check, if set, says what is wrong with the final answer. The turn has
	// completed then, and the run fails all the same.
	Check func(answer string) error
	// View, if set, shows the turn on Stdout instead of a format. It writes what
	// add appends, and waits while the reader is slow.
	View func(write func(add func([]byte) []byte)) View
	// Stdout is watched for its reader going away if it is an *os.File.
	Stdout, Stderr io.Writer
	// Screen, if set, is the terminal at Stderr, for a status, colors and changes;
	// only the format Terminal draws on it.
	Screen *Screen
	// Answers, if set, is where a person at the terminal types answers to what is
	// asked; sessions are attended then. Forget forgets what was typed before.
	Answers io.Reader
	Forget  func()
	// Stops bring signals. The second one skips the grace of running calls;
	// the third gives up waiting for anything.
	Stops <-chan stdio.Stop

	// Notes are for a person who looks on.
	Notes []string
	// Resume is the command that continues the session, for people; "" if it
	// is not kept.
	Resume func(session string) string
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
