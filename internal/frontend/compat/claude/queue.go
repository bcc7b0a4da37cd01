package claude

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/client/pending"
	"github.com/settle-agent/settle/internal/scope"
)

// maxQueued is the maximum number of waiting prompts.
const maxQueued = 10_000

// prompts are the prompts without a result, by the client's uuid or a generated one. The session
// receives one at a time: if it had several, the end of one prompt's turn would hold the others,
// which the client could not see (C19).
type prompts struct {
	pending.Requests[*prompt]

	current *pending.Entry[*prompt] // prompt that the session has; nil for none
	// fetching is the current prompt while a server expands it, or while its documents are read.
	fetching *pending.Entry[*prompt]
	// background has messages that wait for a message with an answer.
	background []*prompt
	// interrupts is the number of interrupts without an answer: nothing begins before.
	interrupts int
}

// withBackground returns a prompt after the messages that waited for it.
func (p *prompts) withBackground(last *prompt) *prompt {
	for _, before := range slices.Backward(p.background) {
		last.text = strings.TrimSpace(before.text + "\n\n" + last.text)
		last.images = append(before.images, last.images...)
		last.documents = append(before.documents, last.documents...)
	}
	p.background = nil
	return last
}

// waiting returns the prompts that the session does not have yet.
func (p *prompts) waiting() []*pending.Entry[*prompt] {
	return slices.DeleteFunc(p.Open(), func(e *pending.Entry[*prompt]) bool { return e == p.current })
}

// uuids returns the client's ids of the waiting prompts.
func (p *prompts) uuids() []string {
	out := []string{}
	for _, e := range p.waiting() {
		if e.Key != "" { // it was a line without one
			out = append(out, e.Key)
		}
	}
	return out
}

// drop takes back prompts that wait, or the one with the uuid, and reports whether
// there were any. They get no result.
func (p *prompts) drop(uuid string) (found bool) {
	for _, e := range p.waiting() {
		if uuid == "" || e.Key == uuid {
			found = e.Answer() || found
		}
	}
	return found
}

// ended releases the session's prompt, if it is one of the inputs.
func (p *prompts) ended(inputs []string) {
	if p.current != nil && slices.Contains(inputs, p.current.Key) {
		p.current.Answer()
		p.current = nil
	}
}

// message is a prompt.
func (d *driver) message(m incoming) {
	p, err := content(m.Message)
	if err != nil {
		d.enqueue(m.UUID, &prompt{bad: err}, last)
		return
	}
	if m.Query != nil && !*m.Query {
		d.prompts.background = append(d.prompts.background, p)
		return
	}
	p = d.prompts.withBackground(p)
	id := cmp.Or(m.UUID, uuid.NewString())
	if m.Priority != "now" {
		d.enqueue(id, p, last)
		return
	}
	d.enqueue(id, p, first)
	if c := d.prompts.current; d.session != nil && (c == nil || c.Key != id) {
		ctx, cut := context.WithoutCancel(d.ctx), settle.Interruption{By: by, Reason: event.Replaced}
		if f := d.prompts.fetching; f != nil { // which may be still to come
			ctx, cut.Input = f.Request.fetched, f.Key
		}
		go scope.Shield(d.panicked, func() { _, _ = d.session.Interrupt(ctx, cut) })() // ends with the turn
	}
}

// place is the place of a prompt in the queue.
type place string

const (
	first place = "first"
	last  place = "last"
)

// enqueue takes a prompt, and begins it if none is under way.
func (d *driver) enqueue(id string, p *prompt, where place) {
	switch {
	case d.prompts.Len() > maxQueued:
		d.refuse(id, fmt.Errorf("not started: %d prompts are already waiting", maxQueued))
	case where == first:
		d.prompts.AddAhead(id, p)
	default:
		d.prompts.Add(id, p)
	}
	d.next()
}

// next sends the next prompt to the session when nothing is under way.
func (d *driver) next() {
	for d.prompts.current == nil && d.prompts.interrupts == 0 && !d.servers.asking && d.stop.Load() == nil {
		open := d.prompts.Open()
		if len(open) == 0 {
			return
		}
		if err := d.submit(open[0]); err != nil && open[0].Answer() {
			d.refuse(open[0].Key, err)
		}
	}
}

func (d *driver) submit(e *pending.Entry[*prompt]) error {
	p := e.Request
	if p.bad != nil {
		return p.bad
	}
	if err := d.open(); err != nil {
		return err
	}
	options := []settle.InputOption{
		settle.WithID(e.Key), settle.WithImages(p.images...), settle.WithDocuments(p.documents...), settle.From(by),
	}
	if d.Schema != "" {
		options = append(options, settle.WithSchema([]byte(d.Schema)))
	}
	options = append(options, commands.Expander(d.session.Commands()))
	if commands.Async(p.text) || len(p.documents) > 0 {
		d.prompts.current, d.prompts.fetching = e, e
		var refused context.CancelFunc
		p.fetched, refused = context.WithCancel(context.WithoutCancel(d.ctx))
		go scope.Shield(
			d.panicked, func() { d.submitLater(e, refused, options) },
		)() // ends with the answer of a server, with the documents, with an interrupt, or with the session
		return nil
	}
	turn, err := d.session.Submit(context.WithoutCancel(d.ctx), p.text, options...) // bounded by the log
	if err != nil {
		return err
	}
	d.accepted(e, turn)
	return nil
}

// submitLater submits the current prompt, which takes as long as a server expands it or its
// documents are read. If it is refused, its interrupts are answered after its result.
func (d *driver) submitLater(e *pending.Entry[*prompt], refused context.CancelFunc, options []settle.InputOption) {
	turn, err := d.session.Submit(e.Request.fetched, e.Request.text, options...)
	d.post(func() {
		if d.prompts.fetching == e {
			d.prompts.fetching = nil
		}
		begun := err == nil && turn.Seq() != 0 // it is the current one, unless its turn has ended since
		if !begun {
			if d.prompts.current == e {
				d.prompts.current = nil
			}
			if err == nil {
				d.accepted(e, turn)
			} else if e.Answer() {
				d.refuse(e.Key, err)
			}
			refused()
		}
		d.results.answer(fetchOf(e))
		if !begun {
			d.next()
			d.reportIdle()
		}
	})
}

// fetchOf returns the key under which interrupts wait for the fetch of a prompt.
func fetchOf(e *pending.Entry[*prompt]) string { return "fetch " + e.Key }

// accepted notes that the session has a prompt, or had it before.
func (d *driver) accepted(e *pending.Entry[*prompt], turn *settle.Turn) {
	if turn.Seq() == 0 {
		d.warn(fmt.Sprintf("a message with the uuid %q was already accepted; it does not run again", e.Key))
		e.Answer()
		return
	}
	d.prompts.current = e
}
