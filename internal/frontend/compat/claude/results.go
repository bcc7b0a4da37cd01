package claude

import (
	"errors"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/pending"
	"github.com/settle-agent/settle/internal/client/stdio"
)

// results records the turns whose result was sent, and the functions that wait for the result of a
// turn.
type results struct {
	sent     map[string]bool
	awaiting pending.Requests[func()] // by turn
}

// after calls f after the turn's result was sent; at once if there was no turn.
func (r *results) after(turn string, f func()) {
	if turn == "" || r.sent[turn] || r.awaiting.Add(turn, f) == nil {
		f()
	}
}

// end records that the result of a turn was sent.
func (r *results) end(turn string) {
	r.sent[turn] = true
	r.answer(turn)
}

// answer calls the functions that wait under a name.
func (r *results) answer(name string) {
	for _, e := range r.awaiting.AnswerAll(name) {
		e.Request()
	}
}

// close calls all functions that wait: no result follows any more.
func (r *results) close() {
	for _, e := range r.awaiting.Close() {
		e.Request()
	}
}

// turnEnded is called after the result of a turn was sent.
func (d *driver) turnEnded(turn string, inputs []string, cause *event.Cause) {
	d.prompts.ended(inputs)
	d.agreed.clear()
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
	d.results.end(turn)
	d.next()
	d.reportIdle()
}

// reportIdle reports that nothing is under way, if so.
func (d *driver) reportIdle() {
	if d.States && d.prompts.Len() == 0 {
		d.out.send(newNotice(d.id, "session_state_changed", map[string]any{"state": "idle", "sdk_host_only": true}))
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
