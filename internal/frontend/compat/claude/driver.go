package claude

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/uuid"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	// shortPatience replaces [stdio.UnreadTimeout] after a stop.
	shortPatience = stdio.DrainTimeout
	// closeTimeout leaves time for the last messages on both outputs.
	closeTimeout = stdio.CloseTimeout - shortPatience
)

// by names the client as the author of its requests.
const by = "client"

// Config configures the service for a client.
type Config struct {
	Options
	Sessions *assemble.Sessions
	// Dir is the working directory, absolute.
	Dir            string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Stops delivers signals, and the end of the client.
	Stops <-chan stdio.Stop
	// States means that the client closes standard input when it receives that the
	// session is idle.
	States bool
	// Version is settle's.
	Version string
	// Mask masks secrets in messages on standard error.
	Mask func(string) string
	// Exit ends the process if output is blocked.
	Exit func(code int)
}

// driver serves one client. All that it has belongs to the goroutine that runs
// loop; others have it do things with post.
type driver struct {
	Config
	ctx context.Context // it is the client's, and ends with the first stop
	mailbox
	outputs
	ending
	lifetime
	sessionState

	policy  policy
	hooks   hooks
	servers servers
	prompts prompts
	calls   calls
	agreed  agreements
	results results
}

// lifetime has the work that loop waits for before it ends.
type lifetime struct {
	eof       bool // the client has closed standard input
	closed    bool // the session is
	following bool // the encoder runs
}

// Serve serves the client until it closes standard input and all its requests are
// answered, or until a stop. It returns the exit code of the last turn (C14).
func Serve(ctx context.Context, c Config) int {
	d := &driver{
		Config:  c,
		ctx:     ctx,
		mailbox: newMailbox(),
		ending:  ending{stops: make(chan stdio.Stop, 1)},
		results: results{sent: map[string]bool{}},
	}
	d.out = lines{
		stdio.NewOutput(c.Stdout, func(err error) { d.end(stdio.StopFor(err, stdio.KindOf(c.Stdout))) }),
		c.Output,
	}
	d.err = stdio.NewOutput(c.Stderr, func(error) {}) // the client has gone
	if d.id = c.SessionID; d.id == "" {
		d.id = settle.NewSessionID()
	}
	for _, warning := range c.Warnings {
		d.warn(warning)
	}
	if c.Input == StreamJSON {
		go scope.Shield(d.panicked, func() { d.read() })() // ends with standard input or with loop, or with the process
	} else {
		d.eof = true
		d.calls.Close()
		d.enqueue(uuid.NewString(), &prompt{text: c.Prompt}, last)
	}
	go scope.Shield(d.panicked, func() { d.loop() })() // ends below
	var stop stdio.Stop
	select {
	case stop = <-c.Stops:
	case stop = <-d.stops:
	}
	d.stop.Store(&stop)
	shutdown := stdio.Shutdown{
		Close:   c.Sessions.CloseAll,
		Hurry:   stdio.Hurry(c.Sessions.All),
		Drain:   d.drain,
		Timeout: closeTimeout,
		Stops:   c.Stops,
		Exit:    c.Exit,
	}
	err := shutdown.Run(stop)
	close(d.quit)
	<-d.done
	return d.leave(stop, err)
}

// read reads the messages of the client.
func (d *driver) read() {
	err := read(d.Stdin, func(m incoming) bool { return d.post(func() { d.take(m) }) })
	d.post(func() {
		if d.eof = true; err != nil && !errors.Is(err, io.EOF) {
			d.say("cannot read standard input: %v", err)
		}
		for _, e := range d.calls.Close() {
			e.Request <- clientReply{closed: true}
		}
	})
}

// loop runs the posted functions, until the session is closed and its last message was
// sent.
func (d *driver) loop() {
	defer close(d.done)
	for !d.closed || d.following {
		if d.eof && d.prompts.Len() == 0 && d.prompts.interrupts == 0 {
			d.end(stdio.Stop{Reason: event.Shutdown, By: "stdin"})
		}
		select {
		case f := <-d.mail:
			f()
		case <-d.stallTick():
			d.checkReader()
		case <-d.quit:
			return
		}
	}
}

// take is the client's next line.
func (d *driver) take(m incoming) {
	switch {
	case m.bad != nil:
		d.enqueue(m.UUID, &prompt{bad: m.bad}, last)
	case m.Type == "user":
		d.message(m)
	case m.Type == "control_request":
		d.control(m.RequestID, m.Request)
	case m.Type == "control_response":
		d.answered(m.Response)
	case slices.Contains([]string{
		"keep_alive", "control_cancel_request", "assistant", "system", "update_environment_variables",
	}, m.Type):
	default:
		d.warn(fmt.Sprintf("a line of type %q was ignored: settle does not know it", m.Type))
	}
}

// panicked ends the session after a panic in a goroutine of the driver: the client would
// wait forever for its message.
func (d *driver) panicked(err error) {
	d.warn(fmt.Sprintf("a defect of settle ended this process: %v", err))
	d.end(stdio.Stop{Reason: event.Shutdown, By: "defect", Code: stdio.CodeFailed, Err: err})
}
