package history_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/model"
)

// dislikes returns a provider that refuses requests with an item for which what returns true,
// without a reason.
func dislikes(what func(model.Item) bool) provider {
	return func(b history.BuiltRequest) *model.Error {
		if !slices.ContainsFunc(b.Input, what) {
			return nil
		}
		return invalid(http.StatusBadRequest)
	}
}

func invalid(status int) *model.Error {
	err := model.NewError(model.ErrInvalid, "Invalid request.")
	err.Status = status
	return err
}

// rich is a log with all that can be refused, and a turn that is about to ask.
func rich(t *testing.T) *tape {
	p := newTape(t).shown("a.png")
	p.calls(2, `{"path":"bad args"}`, "bad output").
		attempt().
		thought("hm", signature).
		text("bad words").
		endAttempt().
		ends(event.Complete())
	p.turn("bad input").attempt().thought("hm", signature).text("fine").endAttempt().ends(event.Complete())
	return p.turn("go on").calls(1, `{}`, "new output")
}

// C6: if a provider refuses an unknown part of the history without a reason, the turn is answered
// with less of the history, later parts are untouched, and the next turn is not refused.
func TestUnknownRefusals(t *testing.T) {
	has := func(role model.Role, word string) func(model.Item) bool {
		return func(i model.Item) bool { return i.Role == role && strings.Contains(i.Text+i.Arguments, word) }
	}
	for name, tt := range map[string]struct {
		dislikes func(model.Item) bool
		refusals int // including the refusal that can be a slip
		left     []event.Part
		kept     string // in the request that is accepted
	}{
		"a signature":     {func(i model.Item) bool { return i.Signature != nil }, 2, []event.Part{event.PartReasoning}, "user with 1 image"},
		"an image":        {func(i model.Item) bool { return len(i.Images) > 0 }, 3, []event.Part{event.PartReasoning, event.PartImages}, "bad output"},
		"arguments":       {has(model.Call, "bad"), 4, []event.Part{event.PartReasoning, event.PartImages, event.PartTools}, "assistant: bad words"},
		"an output":       {has(model.Output, "bad"), 4, []event.Part{event.PartReasoning, event.PartImages, event.PartTools}, "assistant: bad words"},
		"the model's own": {has(model.Assistant, "bad"), 5, []event.Part{event.PartReasoning, event.PartImages, event.PartTools, event.PartAnswers}, "user: bad input"},
		"any call":        {func(i model.Item) bool { return i.Role == model.Call }, 5, []event.Part{event.PartReasoning, event.PartImages, event.PartTools, event.PartAnswers}, "user: bad input"},
		"an input":        {has(model.User, "bad"), 6, []event.Part{event.PartReasoning, event.PartImages, event.PartTools, event.PartAnswers, event.PartInputs}, "user: go on"},
	} {
		t.Run(name, func(t *testing.T) {
			p := rich(t)
			b, n, _ := p.asks(target(), dislikes(tt.dislikes))
			if n != tt.refusals {
				t.Errorf("%d refusals, want %d", n, tt.refusals)
			}
			changes := p.state.Running().Changes
			if len(changes) == 0 || !slices.Equal(changes[len(changes)-1].LeftOut, tt.left) {
				t.Fatalf("the log says %+v, and should end with %v", changes, tt.left)
			}
			got := show(b.Input)
			if !strings.Contains(got, tt.kept) || !strings.Contains(got, "user: go on") {
				t.Errorf("it lacks %q:\n%s", tt.kept, got)
			}
			if n := strings.Count(got, "omitted"); n == 0 && tt.refusals > 2 {
				t.Errorf("the model is not told:\n%s", got)
			}
			checkRoles(t, b.Input)
			p.thought("anew", signature).text("bright").endAttempt()
			p.calls(1, `{"x":1}`, "fresh").ends(event.Complete()).shown("b.png")
			next := history.Request(p.state, target(), "sys", nil)
			after := show(next.Input)
			if !strings.HasPrefix(after, got) {
				t.Errorf("the next request does not extend the one before:\n%s\n%s", got, after)
			}
			for _, want := range []string{"reasoning: anew", "bright", `{"x":1}`, "fresh", "user with 1 image"} {
				if !strings.Contains(after[len(got):], want) {
					t.Errorf("what came after lacks %q:\n%s", want, after[len(got):])
				}
			}
			other := target()
			other.Model = "another"
			if s := show(history.Request(p.state, other, "sys", nil).Input); !strings.Contains(s, "bad output") ||
				!strings.Contains(s, "bad input") {
				t.Errorf("another model is sent:\n%s", s)
			}
		})
	}
}

// Parts that were left out on trial come back if none of it helped: the reason may be the
// configuration's. The request of the next turn has all parts, and the trial begins again.
func TestNothingHelps(t *testing.T) {
	p := rich(t)
	whole := show(history.Request(p.state, target(), "sys", nil).Input)
	always := dislikes(func(model.Item) bool { return true })
	_, n, r := p.asks(target(), always)
	if n != 7 || r.Change == nil || r.Change.Change != event.ChangeRestored ||
		!strings.Contains(r.Note, "kept as it was") || !strings.HasPrefix(r.Note, "it did not help to leave out ") {
		t.Errorf("after %d refusals: %+v", n, r)
	}
	if got := show(history.Request(p.state, target(), "sys", nil).Input); got != whole {
		t.Errorf("the history is now\n%s", got)
	}
	p.ends(event.Fail(&event.Failure{})).turn("again")
	b, n, _ := p.asks(target(), always)
	if got := show(b.Input); n > 7 || !strings.HasSuffix(got, "user: again\n") || strings.Contains(got, "bad") {
		t.Errorf("the last request after %d refusals is\n%s", n, got)
	}
	p.ends(event.Fail(&event.Failure{})).turn("fixed")
	if b, n, _ := p.asks(target(), dislikes(func(model.Item) bool { return false })); n != 0 ||
		!strings.Contains(show(b.Input), "bad output") {
		t.Errorf("with the settings mended, %d refusals:\n%s", n, show(b.Input))
	}
}

// A message that is refused in every form is the first to be left out when the
// next one is refused as well: nothing else is lost.
func TestARefusedMessage(t *testing.T) {
	p := rich(t)
	p.ends(event.Complete()).turn("poison")
	poison := dislikes(func(i model.Item) bool { return strings.Contains(i.Text, "poison") })
	if _, _, r := p.asks(target(), poison); r.Retry || !strings.Contains(r.Note, "Rephrase it") {
		t.Errorf("it ends with %+v", r)
	}
	p.ends(event.Fail(&event.Failure{})).turn("the next one")
	b, n, _ := p.asks(target(), poison)
	got := show(b.Input)
	if n != 1 || strings.Contains(got, "poison") || !strings.Contains(got, "A user message was omitted") ||
		!strings.Contains(got, "bad output") {
		t.Errorf("after %d refusals:\n%s", n, got)
	}
}

// A turn that is interrupted in the middle of its trials leaves nothing of them to
// the next one, which begins with the message that was not answered.
func TestTrialsEndWithTheirTurn(t *testing.T) {
	p := rich(t)
	p.ends(event.Complete()).turn("poison")
	poison := dislikes(func(i model.Item) bool { return strings.Contains(i.Text, "poison") })
	for n := range 6 {
		b := history.Request(p.state, target(), "sys", nil)
		if r := b.Remedy(p.state, target(), poison(b)); !r.FirstTime {
			p.changes(r.Change)
		}
		p.refused(target().Model, model.ErrInvalid, http.StatusBadRequest)
		if n == 5 {
			p.ends(event.Abort(event.Interrupted, "user")).turn("the next one")
		}
	}
	b, n, _ := p.asks(target(), poison)
	if got := show(b.Input); n != 1 || strings.Contains(got, "poison") || !strings.Contains(got, "bad output") {
		t.Errorf("after %d refusals:\n%s", n, got)
	}
}

// A count of items is nothing that one item has.
func TestTooManyItems(t *testing.T) {
	p := newTape(t)
	for range 20 {
		p.turn("a").calls(3, `{}`, "b").attempt().text("c").endAttempt().ends(event.Complete())
	}
	p.turn("go on")
	few := func(b history.BuiltRequest) *model.Error {
		if len(b.Input) > 5 {
			return invalid(http.StatusUnprocessableEntity)
		}
		return nil
	}
	if b, _, r := p.asks(target(), few); few(b) != nil {
		t.Errorf("%+v:\n%s", r, show(b.Input))
	}
}

// A failure with a cause outside the history is not tried with less of the history.
func TestNoRemedy(t *testing.T) {
	for name, fault := range map[string]*model.Error{
		"key": {Kind: model.ErrAuth, Status: 401}, "quota": {Kind: model.ErrQuota, Status: 402}, "model": {Kind: model.ErrNotFound, Status: 404},
		"address": {Kind: model.ErrInvalid, Status: 301}, "method": {Kind: model.ErrInvalid, Status: 405}, "server": {Kind: model.ErrServer, Status: 500},
		"connection": {Kind: model.ErrConnection}, "policy": {Kind: model.ErrPolicy, Status: 400},
	} {
		p := rich(t)
		b := history.Request(p.state, target(), "sys", nil)
		if r := b.Remedy(p.state, target(), fault); r.Retry || r.Change != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	p := newTape(t).turn("go")
	b := history.Request(p.state, target(), "sys", nil)
	if r := b.Remedy(p.state, target(), invalid(400)); r.Retry || r.Change != nil || r.Note != "" {
		t.Errorf("with nothing to leave out: %+v", r)
	}
}

// ADR 7: a part that the provider names is left out at once, if it is there; if it is not, the
// reason is unknown.
func TestNamedParts(t *testing.T) {
	for _, tt := range []struct {
		kind          model.ErrorKind
		status        int
		first, second string
	}{
		{model.ErrReasoning, 400, "without what was refused", "without images"},
		{model.ErrImage, 400, "without what was refused", "without the model's reasoning"},
		{model.ErrContext, http.StatusRequestEntityTooLarge, "without what was refused", "shorter history"},
	} {
		p := newTape(
			t,
		).shown("a.png").
			attempt().
			thought("hm", signature).
			text("fine").
			endAttempt().
			ends(event.Complete()).
			turn("go on")
		fault := model.NewError(tt.kind, "no")
		fault.Status = tt.status
		var notes []string
		for range 2 {
			b := history.Request(p.state, target(), "sys", nil)
			r := b.Remedy(p.state, target(), fault)
			notes = append(notes, r.Note)
			p.refused(target().Model, tt.kind, tt.status)
		}
		if !strings.HasSuffix(notes[0], tt.first) || !strings.HasSuffix(notes[1], tt.second) {
			t.Errorf("%s: %s", tt.kind, fmt.Sprintf("%q", notes))
		}
	}
}
