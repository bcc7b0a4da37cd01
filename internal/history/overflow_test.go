package history_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/model"
)

// provider returns the error with which it refuses a request, or nil.
type provider func(history.BuiltRequest) *model.Error

// holds is a provider that holds so many tokens, of so many bytes each.
func holds(window int, bytes float64, says string) provider {
	return func(b history.BuiltRequest) *model.Error {
		n := len(b.System)
		for _, i := range b.Input {
			n += len(i.Text) + len(i.Arguments) + len(i.Name) + 20
		}
		if requestedOutput := int(float64(n) / bytes); requestedOutput > window {
			err := model.NewError(
				model.ErrContext, "%s",
				strings.NewReplacer("ASKED", fmt.Sprint(requestedOutput), "LIMIT", fmt.Sprint(window)).Replace(says),
			)
			err.Status = http.StatusBadRequest
			return err
		}
		return nil
	}
}

// asks asks as a turn does, until the provider accepts a request or nothing more
// can be done, and returns that request, the number of refusals, and the last.
func (p *tape) asks(to history.Target, refuses provider) (b history.BuiltRequest, refusals int, r history.Remedy) {
	p.t.Helper()
	for ; refusals < 12; refusals++ {
		b = history.Request(p.state, to, "sys", nil)
		for _, c := range b.Changes {
			p.changes(&c)
		}
		a := p.state.NextAttempt()
		p.add(event.Event{Turn: p.id(), Attempt: a, Data: event.AttemptStarted{Provider: to.Provider, Model: to.Model}})
		fault := refuses(b)
		if fault == nil {
			return b, refusals, history.Remedy{}
		}
		r = b.Remedy(p.state, to, fault)
		if !r.FirstTime {
			p.changes(r.Change)
		}
		p.add(event.Event{Turn: p.id(), Attempt: a, Data: event.AttemptEnded{
			Outcome: event.Failed, Failure: &event.Failure{Name: event.NameProvider, Kind: string(fault.Kind), Status: fault.Status, Message: "no"},
		}})
		if !r.Retry {
			return b, refusals + 1, r
		}
	}
	p.t.Fatal("the refusals do not end")
	return b, refusals, r
}

func (p *tape) changes(c *event.HistoryChanged) {
	p.t.Helper()
	if c != nil {
		p.add(event.Event{Turn: p.id(), Data: *c})
	}
}

// calls makes as many calls side by side, each with these arguments and output.
func (p *tape) calls(n int, args, output string) *tape {
	p.t.Helper()
	p.attempt()
	var items []string
	for k := range n {
		items = append(items, p.call(fmt.Sprintf("c%d_%d", len(p.state.Running().Attempts), k), args, "starts"))
	}
	p.endAttempt()
	for _, i := range items {
		p.gives(i, output)
	}
	return p
}

// C6: whatever it is that makes a request too long for the model, the turn gets
// its answer, and so does the next one.
func TestOverflow(t *testing.T) {
	word := func(n int) string { return strings.Repeat("word ", n/5) }
	long := func(p *tape) {
		for range 30 {
			p.calls(3, `{"path":"`+word(900)+`"}`, word(3000)).attempt().text(word(900)).endAttempt()
		}
	}
	logs := map[string]func(p *tape){
		"one output of 5 MB":       func(p *tape) { p.turn("go").calls(1, `{}`, word(5<<20)) },
		"nine outputs of 64 KiB":   func(p *tape) { p.turn("go").calls(9, `{}`, word(64<<10)) },
		"900 outputs side by side": func(p *tape) { p.turn("go").calls(900, `{}`, word(600)) },
		"long text of the model": func(p *tape) {
			p.turn("go").attempt().text(word(900_000)).endAttempt()
			p.ends(event.Complete()).turn("on")
		},
		"long reasoning": func(p *tape) {
			p.turn("go").attempt().thought(word(900_000), signature).text("a").endAttempt()
			p.ends(event.Complete()).turn("on")
		},
		"long arguments": func(p *tape) { p.turn("go").calls(2, `{"content":"`+word(400_000)+`"}`, "ok") },
		"a long earlier input": func(p *tape) {
			p.turn(word(900_000)).attempt().text("a").endAttempt()
			p.ends(event.Complete()).turn("on")
		},
		"many inputs": func(p *tape) {
			for range 300 {
				p.turn(word(3000)).attempt().text("a").endAttempt().ends(event.Complete())
			}
			p.turn("on")
		},
		"a long turn": func(p *tape) { p.turn("go"); long(p) },
		"many turns": func(p *tape) {
			for range 3 {
				p.turn("go")
				long(p)
				p.ends(event.Complete())
			}
			p.turn("on")
		},
	}
	const names = "This model's maximum context length is LIMIT tokens. However, your messages resulted in ASKED tokens."
	for name, log := range logs {
		for _, window := range []int{4_000, 32_000, 200_000} {
			for known, claimed := range map[string]int{"known": window, "unknown": 0, "smaller than we think": 3 * window} {
				for says, words := range map[string]string{"with numbers": names, "without": "too long"} {
					for _, bytes := range []float64{1.5, 3, 4.5} {
						t.Run(fmt.Sprint(name, "/", window, " ", known, "/", says, "/", bytes), func(t *testing.T) {
							p := newTape(t)
							log(p)
							to := target()
							to.Window, to.MaxOutput = claimed, 2_000
							accepts := holds(window, bytes, words)
							b, n, r := p.asks(to, accepts)
							if accepts(b) != nil || n > 8 {
								t.Fatalf(
									"after %d refusals: %+v, with %d tokens, %d at least", n, r, b.Tokens, b.Minimum,
								)
							}
							if known == "known" && bytes >= 3 && n > 0 {
								t.Errorf("%d refusals, though the window is known", n)
							}
							checkRoles(t, b.Input)
							p.text("fine").endAttempt().ends(event.Complete()).turn("the next one")
							next, n, _ := p.asks(to, accepts)
							if accepts(next) != nil || n > 1 {
								t.Errorf("the next turn has %d refusals", n)
							}
							if got := next.Input[len(next.Input)-1].Text; !strings.Contains(got, "the next one") {
								t.Errorf("it ends with %.40q", got)
							}
							again := history.Request(p.state, to, "sys", nil)
							if show(again.Input) != show(next.Input) {
								t.Error("the same log gives another request")
							}
						})
					}
				}
			}
		}
	}
}

// checkRoles: each call has its output, and nothing else has.
func checkRoles(t *testing.T, items []model.Item) {
	t.Helper()
	open := map[string]bool{}
	for _, i := range items {
		switch i.Role {
		case model.Call:
			open[i.CallID] = true
		case model.Output:
			if !open[i.CallID] {
				t.Errorf("an output without its call: %s", i.CallID)
			}
			delete(open, i.CallID)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without outputs: %v", open)
	}
	if items[0].Role != model.User {
		t.Errorf("it begins with %s", items[0].Role)
	}
}

// C6: an input that is longer than the window fails its turn, once, and says so;
// the next turn has its two ends, and loses nothing else.
func TestAnInputThatNoModelTakes(t *testing.T) {
	for _, window := range []int{0, 32_000} {
		p := newTape(t)
		p.turn("first").
			calls(1, `{}`, "kept"+strings.Repeat(" word", 400)).
			attempt().
			text("fine").
			endAttempt().
			ends(event.Complete())
		p.turn("begin " + strings.Repeat("word ", 100_000) + " end")
		to := target()
		to.Window = window
		accepts := holds(32_000, 3, "too long")
		_, n, r := p.asks(to, accepts)
		if r.Retry || !strings.Contains(r.Note, "Send a shorter one") || n > 3 {
			t.Errorf("after %d refusals: %+v", n, r)
		}
		p.ends(event.Fail(&event.Failure{Name: event.NameProvider, Kind: string(model.ErrContext), Message: "no"})).
			turn("the next one")
		b, n, _ := p.asks(to, accepts)
		got := show(b.Input)
		if accepts(b) != nil || n > 1 {
			t.Errorf("the next turn: %d refusals", n)
		}
		if whole := strings.Contains(got, strings.Repeat(" word", 400)); window > 0 && !whole {
			t.Error("the rest of the history has suffered")
		}
		for _, want := range []string{"user: first\n", "output c1_0: kept", "user: begin word", "bytes of this message were omitted here", " end\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("window %d: it lacks %q:\n%.3000s", window, want, got)
			}
		}
	}
}

// C21: until the conversation has to be shortened once more, each request
// extends the one before, to the byte.
func TestShorteningKeepsThePrefix(t *testing.T) {
	p := newTape(t).turn("go")
	to := target()
	to.Window, to.MaxOutput = 20_000, 2_000
	var before string
	changes := 0
	for range 100 {
		b, _, _ := p.asks(to, func(history.BuiltRequest) *model.Error { return nil })
		got := show(b.Input)
		if len(b.Changes) > 0 {
			changes++
		} else if !strings.HasPrefix(got, before) {
			t.Fatal("a request does not extend the one before, and no event says why")
		}
		before = got
		a := p.call(fmt.Sprint("c", len(p.state.Running().Attempts)), `{}`, "starts")
		p.endAttempt().gives(a, strings.Repeat("word ", 500))
	}
	if changes < 3 || changes > 20 {
		t.Errorf("%d changes in 100 requests", changes)
	}
}

// Servers count the answer as well: where the model's is larger than the window,
// less is asked for, and the history stays.
func TestALongAnswerInASmallWindow(t *testing.T) {
	for says, words := range map[string]string{
		"numbers": "input length and `max_tokens` exceed context limit: INPUT + OUTPUT > 8192, decrease input length or `max_tokens` and try again", "none": "too long",
	} {
		p := newTape(t).turn("go").calls(1, `{}`, strings.Repeat("word ", 600))
		to := target()
		to.MaxOutput = 64_000
		accepts := func(b history.BuiltRequest) *model.Error {
			if b.Tokens+b.MaxTokens <= 8192 {
				return nil
			}
			err := model.NewError(
				model.ErrContext, "%s",
				strings.NewReplacer("INPUT", fmt.Sprint(b.Tokens), "OUTPUT", fmt.Sprint(b.MaxTokens)).Replace(words),
			)
			err.Status = http.StatusBadRequest
			return err
		}
		b, n, r := p.asks(to, accepts)
		if accepts(b) != nil || b.Trimmed > 0 || b.MaxTokens < 3000 || n > 5 {
			t.Errorf("%s: %d refusals, %d trimmed, %d tokens for the answer: %+v", says, n, b.Trimmed, b.MaxTokens, r)
		}
	}
}
