package history_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/model"
)

// shown begins a turn with a picture of that name.
func (p *tape) shown(name string) *tape {
	p.t.Helper()
	in := p.state.NextInput()
	return p.add(
		event.Event{
			Data: event.InputAccepted{
				Input:  in,
				Images: []event.Image{{MediaType: "image/png", Data: []byte(name), Name: name}},
			},
		},
		event.Event{Turn: p.state.NextTurn(), Data: event.TurnStarted{Inputs: []string{in}}},
	)
}

// refused begins an attempt of that model that its provider refuses.
func (p *tape) refused(by string, kind model.ErrorKind, status int) *tape {
	p.t.Helper()
	a := p.state.NextAttempt()
	return p.add(
		event.Event{Turn: p.id(), Attempt: a, Data: event.AttemptStarted{Provider: target().Provider, Model: by}},
		event.Event{Turn: p.id(), Attempt: a, Data: event.AttemptEnded{
			Outcome: event.Failed, Failure: &event.Failure{Name: event.NameProvider, Kind: string(kind), Status: status, Message: "no"},
		}},
	)
}

// C6: a part that a provider refused once is left out of every later request.
func TestRefused(t *testing.T) {
	own := target().Model
	said := func(p *tape, thought, text string) { p.attempt().thought(thought, signature).text(text).endAttempt() }
	const unsaid, noOutput = "[A user message was omitted here because the provider refused it.]", "[The output was omitted because the provider refused it.]"
	done, to := event.Complete(), target()
	to.RefusalSticks = true
	for name, tt := range map[string]struct {
		log  func(p *tape)
		want string
	}{
		"reasoning, and not what came after": {
			func(p *tape) {
				p.turn("a")
				said(p, "old", "A")
				p.ends(done).turn("b").refused(own, model.ErrReasoning, 400)
				said(p, "new", "B")
				p.ends(done).turn("c")
			},
			"user: a\nassistant: A\nuser: b\nreasoning: new\nassistant: B\nuser: c\n",
		},
		"reasoning by another model": {
			func(p *tape) {
				p.turn("a")
				said(p, "old", "A")
				p.ends(done).turn("b").refused("another", model.ErrReasoning, 400)
			},
			"user: a\nreasoning: old\nassistant: A\nuser: b\n",
		},
		"something else": {
			func(p *tape) {
				p.shown("a.png")
				said(p, "old", "A")
				p.ends(done).turn("b").refused(own, model.ErrInvalid, 400)
			},
			"user with 1 image\nreasoning: old\nassistant: A\nuser: b\n",
		},
		"the picture that is new": {
			func(p *tape) {
				p.shown("a.png")
				said(p, "old", "A")
				p.ends(done).shown("b.png").refused(own, model.ErrImage, 400)
			},
			"user with 1 image\nreasoning: old\nassistant: A\nuser: [b.png: omitted because the provider refused it]\n",
		},
		"all pictures, where none is new": {
			func(p *tape) {
				p.shown("a.png")
				said(p, "old", "A")
				p.ends(done).shown("b.png").refused(own, model.ErrImage, 400).refused(own, model.ErrImage, 400)
			},
			"user: [a.png: omitted because the provider refused it]\nreasoning: old\nassistant: A\nuser: [b.png: omitted because the provider refused it]\n",
		},
		"words": {
			func(p *tape) {
				p.turn("a")
				said(p, "old", "A")
				p.ends(done).turn("bad").refused(own, model.ErrPolicy, 400).ends(done).turn("b")
			},
			"user: a\nreasoning: old\nassistant: A\nuser: " + unsaid + "\nuser: b\n",
		},
		"what a call gave": {
			func(p *tape) {
				p.turn("a").attempt()
				call := p.call("c", `{}`, "starts")
				p.endAttempt().gives(call, "bad").refused(own, model.ErrPolicy, 0).ends(event.Fail(&event.Failure{})).turn("b")
			},
			"user: a\ncall c: {}\noutput c: " + noOutput + "\nuser: [The turn failed here. Do not resume it unless the user asks.]\nuser: b\n",
		},
		"words again: the exchange before goes as well": {
			func(p *tape) {
				p.turn("a")
				said(p, "old", "A")
				p.ends(done).turn("b")
				said(p, "older", "B")
				p.ends(done).turn("c").refused(own, model.ErrPolicy, 400).ends(done).turn("d").refused(own, model.ErrPolicy, 400).ends(done).turn("e")
			},
			"user: a\nreasoning: old\nassistant: A\nuser: " + unsaid + "\nuser: " + unsaid + "\nuser: " + unsaid + "\nuser: e\n",
		},
		"a response that a refusal cut": {
			func(p *tape) {
				p.turn("bad")
				a := p.state.NextAttempt()
				p.add(event.Event{Turn: p.id(), Attempt: a, Data: event.AttemptStarted{Provider: target().Provider, Model: own}})
				p.text("half").add(event.Event{Turn: p.id(), Attempt: a, Data: event.AttemptEnded{Outcome: event.Completed, StopReason: string(model.StopRefusal)}})
				p.ends(done).turn("b")
			},
			"user: " + unsaid + "\nuser: b\n",
		},
		"a request of too many bytes": {
			func(p *tape) { p.shown("a.png").refused(own, model.ErrContext, http.StatusRequestEntityTooLarge) },
			"user: [a.png: omitted because the provider refused it]\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTape(t)
			tt.log(p)
			got := show(history.Request(p.state, to, "", nil).Input)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
