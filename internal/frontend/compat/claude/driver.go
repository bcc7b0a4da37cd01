package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/pending"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// shortPatience replaces [stdio.UnreadTimeout] after a stop.
	shortPatience = stdio.DrainTimeout
	// closeTimeout leaves time for the last messages on both outputs.
	closeTimeout = stdio.CloseTimeout - shortPatience
)

// by names the client as the author of its requests.
const by = "client"

// Config is what a client is served with.
type Config struct {
	Options
	Sessions *assemble.Sessions
	// Dir is the working directory, absolute.
	Dir            string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Stops bring signals, and that the client is gone.
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
	ctx   context.Context //nolint:containedctx // it is the client's, and ends with the first stop
	out   lines
	err   *stdio.Output
	mail  chan func()
	stops chan stdio.Stop // the first one that loop asks for
	stop  atomic.Pointer[stdio.Stop]
	gone  chan struct{} // closed when nothing is waited for any more
	over  chan struct{} // closed when loop has ended

	childText bool // forwardSubagentText

	id      string // of the session
	session *assemble.Opened
	failure error // why there is none
	policy  policy
	tools   []string // that the model gets, by Claude's names
	hooks   hooks
	servers servers
	// background has messages that wait for a message with an answer.
	background []*prompt
	prompts    prompts
	window     atomic.Int64 // what the model can read, in tokens; 0 if unknown
	// interrupts are those that are not answered yet: nothing begins before.
	interrupts int
	calls      calls
	agreed     agreements
	// results are the turns whose result was sent, and awaiting what waits for that, by
	// turn.
	results  map[string]bool
	awaiting pending.Requests[func()]

	eof       bool
	closed    bool // the session is
	following bool // the encoder runs
	code      int
}

// Serve serves the client until it closes standard input and all its requests are
// answered, or until a stop. It returns the exit code of the last turn (C14).
func Serve(ctx context.Context, c Config) int {
	d := &driver{
		Config:  c,
		ctx:     ctx,
		mail:    make(chan func()),
		stops:   make(chan stdio.Stop, 1),
		gone:    make(chan struct{}),
		over:    make(chan struct{}),
		results: map[string]bool{},
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
	close(d.gone)
	<-d.over
	return d.leave(stop, err)
}

// read takes what the client says.
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

// post has loop call f, and reports whether it will.
func (d *driver) post(f func()) bool {
	select {
	case d.mail <- f:
		return true
	case <-d.gone:
		return false
	}
}

// do has loop call f, and waits for that.
func (d *driver) do(f func()) {
	done := make(chan struct{})
	if d.post(func() { f(); close(done) }) {
		<-done // loop calls what it takes
	}
}

// end ends the session, unless it is ending already.
func (d *driver) end(stop stdio.Stop) {
	select {
	case d.stops <- stop:
	default:
	}
}

// loop runs the posted functions, until the session is closed and its last message was
// sent.
func (d *driver) loop() {
	defer close(d.over)
	for !d.closed || d.following {
		if d.eof && d.prompts.Len() == 0 && d.interrupts == 0 {
			d.end(stdio.Stop{Reason: event.Shutdown, By: "stdin"})
		}
		select {
		case f := <-d.mail:
			f()
		case <-d.stallTick():
			d.checkReader()
		case <-d.gone:
			return
		}
	}
}

// drain sends the end of the session to the client.
func (d *driver) drain(ctx context.Context) {
	stdio.Await(ctx, func() {
		d.post(func() { d.closed = true })
		<-d.over
	})
}

// leave answers what has no answer, and lets it go out. What did not end is named.
func (d *driver) leave(stop stdio.Stop, unended error) int {
	why, long := "settle has ended", stdio.UnreadTimeout
	if stop.Code != stdio.CodeCompleted {
		why, long = ended(stop), shortPatience
	}
	for _, e := range d.prompts.Close() {
		what := "not started: "
		if e == d.prompts.current {
			what = "not answered: "
		}
		d.refuse(e.Key, cmp.Or(e.Request.bad, errors.New(what+why)))
	}
	if unended != nil {
		d.say("%v", unended)
		d.code = max(d.code, stdio.CodeFailed)
	}
	if stop.Code != stdio.CodeCompleted {
		if d.code = stop.Code; stop.Err != nil {
			why = "ended: " + why
		}
		d.say("%s", why)
	}
	if d.out.Close(func() time.Duration { return long }) != nil && d.code == stdio.CodeCompleted {
		d.say("cannot write all output to standard output")
		d.code = stdio.CodeFailed
	}
	_ = d.err.Close(func() time.Duration { return shortPatience }) // the client has gone
	return d.code
}

// ended describes the effect of a stop.
func ended(stop stdio.Stop) string {
	if stop.Err != nil {
		return stop.Err.Error()
	}
	return "ended by " + stop.Who()
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
	case slices.Contains([]string{"keep_alive", "control_cancel_request", "assistant", "system", "update_environment_variables"}, m.Type):
	default:
		d.warn(fmt.Sprintf("a line of type %q was ignored: settle does not know it", m.Type))
	}
}

// turnEnded is called after the result of a turn was sent.
func (d *driver) turnEnded(turn string, inputs []string, cause *event.Cause) {
	d.results[turn] = true
	d.prompts.ended(inputs)
	var stops []stdio.Stop
	if stop := d.stop.Load(); stop != nil {
		stops = append(stops, *stop)
	}
	if d.code = stdio.Code(cause, stops...); d.code != stdio.CodeCompleted {
		if f := cause.Failure; f != nil && f.Name == event.NameRetryExhausted {
			d.err.Add(stdio.ExhaustLine(d.id, turn, f, d.mask) + "\n")
		}
		d.say("%s", cause.Error())
	}
	for _, e := range d.awaiting.AnswerAll(turn) {
		e.Request()
	}
	d.next()
	d.reportIdle()
}

// reportIdle says that nothing is under way, if so.
func (d *driver) reportIdle() {
	if d.States && d.prompts.Len() == 0 {
		d.out.send(newNotice(d.id, "session_state_changed", map[string]any{"state": "idle", "sdk_host_only": true}))
	}
}

// afterResult calls f after the turn's result was sent; at once if there was no turn.
func (d *driver) afterResult(turn string, f func()) {
	if turn == "" || d.results[turn] || d.awaiting.Add(turn, f) == nil {
		f()
	}
}

// refuse is the result of a prompt that never became a turn.
func (d *driver) refuse(id string, err error) {
	d.code = stdio.CodeUsage
	if cause, ok := errors.AsType[*event.Cause](err); ok {
		d.code = stdio.Code(cause)
	}
	text := d.mask(err.Error())
	d.say("%s", text)
	r := refusal(d.id, text)
	if r.UserUUID = clientUUID(id); r.UserUUID != "" {
		r.UserUUIDs = []string{r.UserUUID}
	}
	d.out.send(r)
}

func (d *driver) mask(text string) string {
	if d.session != nil {
		text = d.session.Agent.Redact.Diagnostic(text)
	}
	if d.Mask != nil {
		text = d.Mask(text)
	}
	return text
}

// say says one line on standard error.
func (d *driver) say(format string, a ...any) {
	d.err.Add("settle: " + terminal.Text(strings.TrimSpace(d.mask(fmt.Sprintf(format, a...)))) + "\n")
}

// warn says, on both outputs, that something is not as the client thinks.
func (d *driver) warn(text string) {
	d.say("warning: %s", text)
	d.out.send(
		newNotice(d.id, "informational", map[string]any{"content": "settle: " + d.mask(text), "level": "warning"}),
	)
}

// follow tells the client what happens in the session, until it is closed.
func (d *driver) follow(t *encoder, after uint64) {
	asking := asker.New(context.WithoutCancel(d.ctx), asker.Options{
		Session: d.session, By: func() string { return by },
		Ask: func(_ context.Context, q asker.Question) asker.Asked {
			return d.ask(t.log.State().Turn(q.Turn).Item(q.Item), q)
		},
		Fill:   d.fill,
		Failed: func(err error) { d.post(func() { d.warn(err.Error()) }) },
	})
	err := scope.Guard(func() error {
		for e, err := range d.session.Events(context.WithoutCancel(d.ctx), after) {
			if err != nil {
				return err
			}
			t.out.Wait()
			if err := t.take(e); err != nil {
				return err
			}
			asking.Take(e)
			d.notify(t, e)
		}
		return nil
	})
	asking.Close()
	t.below.close()
	d.post(func() {
		if d.following = false; err != nil && !errors.Is(err, settle.ErrClosed) {
			err = fmt.Errorf("cannot follow the session: %w", err)
			d.end(stdio.Stop{Reason: event.Shutdown, By: "encoder", Code: stdio.CodeFailed, Err: err})
		}
		for _, e := range d.awaiting.Close() { // they wait for nothing any more
			e.Request()
		}
	})
}

// notify posts the reaction to an event to loop.
func (d *driver) notify(t *encoder, e event.Event) {
	if _, ended := e.Data.(event.ItemEnded); ended {
		if i := t.log.State().Turn(e.Turn).Item(e.Item); i.Type() == event.ToolCall && i.Started {
			d.used(i)
		}
	}
	if e.Terminal() {
		turn := t.log.State().Turn(e.Turn)
		var inputs []string
		for _, i := range turn.Inputs {
			inputs = append(inputs, i.ID)
		}
		cause := turn.Cause
		d.post(func() { d.turnEnded(e.Turn, inputs, cause) })
	}
}

// panicked ends the session after a panic in a goroutine of the driver: the client would
// wait forever for its message.
func (d *driver) panicked(err error) {
	d.warn(fmt.Sprintf("a defect of settle ended this process: %v", err))
	d.end(stdio.Stop{Reason: event.Shutdown, By: "defect", Code: stdio.CodeFailed, Err: err})
}
