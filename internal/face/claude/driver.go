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
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/printable"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	// closeTimeout bounds the end of the session; what is left then is named,
	// and ended by those who have custody of it.
	closeTimeout = 1000 * time.Millisecond
	// exitTimeout is from the first stop to the process's end, whatever is in
	// the way.
	exitTimeout = 1400 * time.Millisecond
	// patience is how long a client may leave standard output unread before
	// the rest is given up, shortPatience once somebody asked for the end.
	patience      = 10 * time.Second
	shortPatience = 200 * time.Millisecond
)

// by is who asks for what the client asks for.
const by = "client"

// Config is what a client is served with.
type Config struct {
	Options
	Hosts *agent.Hosts
	// Dir is the working directory, absolute.
	Dir            string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Stops bring signals, and that the client is gone.
	Stops <-chan stdio.Stop
	// States says that the client closes standard input when it is told that
	// the session is idle.
	States bool
	// Version is settle's.
	Version string
	// Mask masks secrets in what is said on standard error.
	Mask func(string) string
	// Exit ends the process where the way out is blocked.
	Exit func(code int)
}

// queued is a prompt that waits for its turn. The session gets one at a time:
// of several, the end of one's turn would hold the others, which the client
// could not see (C19).
type queued struct {
	uuid string // the client's, or made up
	prompt
	bad error // why there is no turn for it; results keep the order of the prompts
}

// mostQueued is how many prompts may wait.
const mostQueued = 10_000

// driver serves one client. All that it has belongs to the goroutine that runs
// loop; others have it do things with post.
type driver struct {
	Config
	ctx  context.Context //nolint:containedctx // it is the client's, and ends with the first stop
	out  lines
	err  *stdio.Output
	mail chan func()
	deaf chan struct{} // closed when the client says no more
	gone chan struct{} // closed when loop has ended

	id      string // of the session
	session *agent.Opened
	failure error // why there is none
	policy  policy
	tools   []string // that the model gets, by Claude's names
	hooks   hooks
	// asides are messages that wait for one that is to be answered.
	asides []prompt
	queue  []queued
	behind atomic.Int64 // length of queue, for the encoder
	window atomic.Int64 // what the model can read, in tokens; 0 if unknown
	// current is the prompt that the session has, by its input's id; "" for none.
	current string
	// interrupts are those that are not answered yet: nothing begins before.
	interrupts int
	calls      calls
	agreed     agreements
	// results are the turns whose end was told, and later what waits for that.
	results map[string]bool
	later   map[string][]func()

	eof     bool
	stops   []stdio.Stop
	closing bool
	closed  bool
	telling bool // the encoder runs
	give    <-chan time.Time
	code    int
}

// Serve serves the client until it closes standard input and all it asked for
// is answered, or until a stop, and returns the exit code: that of the last
// turn (C14).
func Serve(ctx context.Context, c Config) int {
	d := &driver{
		Config: c, ctx: ctx, mail: make(chan func()), deaf: make(chan struct{}), gone: make(chan struct{}),
		results: map[string]bool{}, later: map[string][]func(){},
	}
	d.out = lines{stdio.NewOutput(c.Stdout, d.unread), c.Output}
	d.err = stdio.NewOutput(c.Stderr, func(error) {}) // there is nobody left to tell
	if d.id = c.SessionID; d.id == "" {
		d.id = settle.NewSessionID()
	}
	for _, warning := range c.Warnings {
		d.warn(warning)
	}
	if c.Input == StreamJSON {
		go d.read() // ends with standard input or with loop, or with the process
	} else {
		d.eof = true
		d.calls.Close()
		d.enqueue(queued{uuid: uuid.NewString(), prompt: prompt{text: c.Prompt}}, last)
	}
	d.loop()
	close(d.gone)
	return d.leave()
}

// read takes what the client says.
func (d *driver) read() {
	err := read(d.Stdin, func(m incoming) bool { return d.post(func() { d.take(m) }) })
	d.post(func() {
		if d.eof = true; err != nil && !errors.Is(err, io.EOF) {
			d.say("cannot read standard input: %v", err)
		}
		d.calls.Close()
		close(d.deaf)
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

func (d *driver) loop() {
	for !d.closed || d.telling {
		if d.eof && d.current == "" && len(d.queue) == 0 && d.interrupts == 0 && !d.closing {
			d.close(event.Shutdown, "stdin")
			continue
		}
		select {
		case f := <-d.mail:
			f()
		case stop := <-d.Stops:
			d.stopped(stop)
		case <-d.look():
			d.unheard()
		case <-d.give:
			return
		}
	}
}

// stopped ends everything.
func (d *driver) stopped(stop stdio.Stop) {
	d.stops = append(d.stops, stop)
	if len(d.stops) > 1 {
		if d.session != nil { // ends with the turn
			go func() {
				_, _ = d.session.Interrupt(context.Background(), settle.Interruption{By: stop.By, Reason: stop.Reason, Hurry: true})
			}()
		}
		return
	}
	d.give = time.After(exitTimeout - 2*shortPatience)
	if d.Exit != nil {
		code := stop.Code
		time.AfterFunc(exitTimeout, func() { d.Exit(code) })
	}
	if !d.closing {
		d.close(stop.Reason, stop.By)
	}
}

// close ends the session and what it left running.
func (d *driver) close(reason event.Reason, by string) {
	d.closing = true
	go func() { // ends within closeTimeout
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), closeTimeout)
		defer cancel()
		err := d.Hosts.CloseAll(ctx, reason, by)
		d.post(func() {
			if d.closed = true; err != nil {
				d.say("%v", err)
				d.code = max(d.code, stdio.CodeFailed)
			}
		})
	}()
}

// leave answers what has no answer, and lets it go out.
func (d *driver) leave() int {
	if d.current != "" {
		d.refuse(d.current, errors.New("not answered: "+d.ending()))
	}
	for _, q := range d.queue {
		d.refuse(q.uuid, cmp.Or(q.bad, errors.New("not begun: "+d.ending())))
	}
	long := patience
	if len(d.stops) > 0 {
		long = shortPatience
		d.code = d.stops[0].Code
		if stop := d.stops[0]; stop.Err != nil {
			d.say("ended: %v", stop.Err)
		} else {
			d.say("ended by %s", strings.TrimPrefix(stop.By, "signal:"))
		}
	}
	if d.out.Close(func() time.Duration { return long }) != nil && d.code == stdio.CodeCompleted {
		d.say("cannot write all output to standard output")
		d.code = stdio.CodeFailed
	}
	_ = d.err.Close(func() time.Duration { return shortPatience }) // nobody is left to tell
	return d.code
}

func (d *driver) ending() string {
	if len(d.stops) > 0 {
		if err := d.stops[0].Err; err != nil {
			return err.Error()
		}
		return "ended by " + strings.TrimPrefix(d.stops[0].By, "signal:")
	}
	return "settle has ended"
}

// take is the client's next line.
func (d *driver) take(m incoming) {
	switch {
	case m.bad != nil:
		d.enqueue(queued{uuid: m.UUID, bad: m.bad}, last)
	case m.Type == "user":
		d.message(m)
	case m.Type == "control_request":
		d.control(m.RequestID, m.Request)
	case m.Type == "control_response":
		d.answered(m.Response)
	case slices.Contains([]string{"keep_alive", "control_cancel_request", "assistant", "system", "update_environment_variables"}, m.Type):
	default:
		d.warn(fmt.Sprintf("a line of type %q was left out: settle does not know it", m.Type))
	}
}

// message is a prompt.
func (d *driver) message(m incoming) {
	p, err := content(m.Message)
	if err != nil {
		d.enqueue(queued{uuid: m.UUID, bad: err}, last)
		return
	}
	if m.Query != nil && !*m.Query {
		d.asides = append(d.asides, p)
		return
	}
	for n := len(d.asides) - 1; n >= 0; n-- {
		p.text = strings.TrimSpace(d.asides[n].text + "\n\n" + p.text)
		p.images = append(d.asides[n].images, p.images...)
	}
	d.asides = nil
	q := queued{uuid: cmp.Or(m.UUID, uuid.NewString()), prompt: p}
	if m.Priority != "now" {
		d.enqueue(q, last)
		return
	}
	if d.enqueue(q, first); d.current != q.uuid && d.session != nil { // ends with the turn
		go func() {
			_, _ = d.session.Interrupt(context.WithoutCancel(d.ctx), settle.Interruption{By: by, Reason: event.Replaced})
		}()
	}
}

// place is where a prompt comes in the queue.
type place string

const (
	first place = "first"
	last  place = "last"
)

// enqueue takes a prompt, and begins it if none is under way.
func (d *driver) enqueue(q queued, where place) {
	switch {
	case len(d.queue) >= mostQueued:
		d.refuse(q.uuid, fmt.Errorf("not begun: %d prompts are waiting already", mostQueued))
	case where == first:
		d.queue = slices.Insert(d.queue, 0, q)
	default:
		d.queue = append(d.queue, q)
	}
	d.next()
}

// next sends the next prompt to the session when nothing is under way.
func (d *driver) next() {
	for d.current == "" && len(d.queue) > 0 && d.interrupts == 0 && !d.closing {
		q := d.queue[0]
		d.queue = d.queue[1:]
		if err := d.submit(q); err != nil {
			d.refuse(q.uuid, err)
		}
	}
	d.behind.Store(int64(len(d.queue)))
}

func (d *driver) submit(q queued) error {
	if q.bad != nil {
		return q.bad
	}
	if err := d.open(); err != nil {
		return err
	}
	options := []settle.InputOption{settle.WithID(q.uuid), settle.WithImages(q.images...), settle.From(by)}
	if d.Schema != "" {
		options = append(options, settle.WithSchema([]byte(d.Schema)))
	}
	turn, err := d.session.Submit(context.WithoutCancel(d.ctx), q.text, options...) // bounded by the log
	switch {
	case err != nil:
		return err
	case turn.Seq() == 0:
		d.warn(fmt.Sprintf("a message with the uuid %q came before; it is not run again", q.uuid))
	default:
		d.current = turn.Input()
	}
	return nil
}

// over is told of a turn whose result the client has been told.
func (d *driver) over(turn string, inputs []string, cause *event.Cause) {
	d.results[turn] = true
	if slices.Contains(inputs, d.current) {
		d.current = ""
	}
	if d.code = stdio.Code(cause, d.stops...); d.code != stdio.CodeCompleted {
		if f := cause.Failure; f != nil && f.Name == event.NameRetryExhausted {
			d.err.Add(stdio.ExhaustLine(d.id, turn, f, d.mask) + "\n")
		}
		d.say("%s", cause.Error())
	}
	for _, f := range d.later[turn] {
		f()
	}
	delete(d.later, turn)
	d.next()
	d.rest()
}

// rest says that nothing is under way, if so.
func (d *driver) rest() {
	if d.States && d.current == "" && len(d.queue) == 0 {
		d.out.send(newNotice(d.id, "session_state_changed", map[string]any{"state": "idle", "sdk_host_only": true}))
	}
}

// after calls f when the turn's result is told; at once if there was none.
func (d *driver) after(turn string, f func()) {
	if turn == "" || d.results[turn] || !d.telling {
		f()
		return
	}
	d.later[turn] = append(d.later[turn], f)
}

// refuse is the result of a prompt that never became a turn.
func (d *driver) refuse(id string, err error) {
	d.code = stdio.CodeUsage
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
	d.err.Add("settle: " + printable.Text(strings.TrimSpace(d.mask(fmt.Sprintf(format, a...)))) + "\n")
}

// warn says, on both outputs, that something is not as the client thinks.
func (d *driver) warn(text string) {
	d.say("warning: %s", text)
	d.out.send(newNotice(d.id, "informational", map[string]any{"content": "settle: " + d.mask(text), "level": "warning"}))
}

// tell tells the client what happens in the session, until it is closed.
func (d *driver) tell(t *encoder, after uint64) {
	asking := asker.New(context.WithoutCancel(d.ctx), asker.Options{
		Session: d.session, By: func() string { return by },
		Ask: func(_ context.Context, q asker.Question) asker.Asked {
			return d.ask(t.log.State().Turn(q.Turn).Item(q.Item), q)
		},
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
	d.post(func() {
		if d.telling = false; err != nil && !errors.Is(err, settle.ErrClosed) {
			d.say("cannot tell what happens in the session: %v", err)
			d.code = stdio.CodeFailed
			if !d.closing {
				d.close(event.Shutdown, "encoder")
			}
		}
		for turn, all := range d.later { // they wait for nothing any more
			for _, f := range all {
				f()
			}
			delete(d.later, turn)
		}
	})
}

// notify has loop see to what an event asks of it.
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
		d.post(func() { d.over(e.Turn, inputs, cause) })
	}
}
