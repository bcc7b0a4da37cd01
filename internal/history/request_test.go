package history_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/model"
)

// tape writes a log event by event.
type tape struct {
	t     *testing.T
	state event.State
	at    time.Time
}

func newTape(t *testing.T) *tape {
	p := &tape{t: t, state: event.State{Session: "s"}, at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	return p.add(event.Event{Data: event.SessionOpened{}})
}

func (p *tape) add(events ...event.Event) *tape {
	p.t.Helper()
	for _, e := range events {
		p.at = p.at.Add(time.Second)
		e.V, e.Session, e.Seq, e.At = event.Version, "s", p.state.Seq+1, p.at
		next, err := event.Fold(p.state, e)
		if err != nil {
			p.t.Fatal(err)
		}
		p.state = next
	}
	return p
}

func (p *tape) turn(text string) *tape {
	p.t.Helper()
	in := p.state.NextInput()
	return p.add(
		event.Event{Data: event.InputAccepted{Input: in, Text: text}},
		event.Event{Turn: p.state.NextTurn(), Data: event.TurnStarted{Inputs: []string{in}}},
	)
}

func (p *tape) id() string { return p.state.Running().ID }

func (p *tape) attempt(inputs ...string) *tape {
	p.t.Helper()
	return p.add(
		event.Event{
			Turn:    p.id(),
			Attempt: p.state.NextAttempt(),
			Data:    event.AttemptStarted{Inputs: inputs, Provider: "p", Model: "m"},
		},
	)
}

// begin starts an item of the running attempt, and end ends it.
func (p *tape) begin(c event.Content) (item string) {
	p.t.Helper()
	item = p.state.NextItem(0)
	p.add(
		event.Event{
			Turn:    p.id(),
			Attempt: p.state.Running().Attempt().ID,
			Item:    item,
			Data:    event.ItemStarted{Type: c.Type},
		},
	)
	return item
}

func (p *tape) end(item string, d event.ItemEnded) *tape {
	p.t.Helper()
	return p.add(event.Event{Turn: p.id(), Attempt: p.state.Running().Item(item).Attempt, Item: item, Data: d})
}

func (p *tape) item(c event.Content) *tape {
	p.t.Helper()
	c.Provider, c.Model = "p", "m"
	return p.end(p.begin(c), event.ItemEnded{Status: event.ItemCompleted, Content: c})
}

func (p *tape) text(s string) *tape { return p.item(event.Content{Type: event.Message, Text: s}) }

func (p *tape) thought(s string, signature *model.ProviderSignature) *tape {
	return p.item(event.Content{Type: event.Reasoning, Text: s, Signature: signature})
}

// call makes a call ready and, if it is to, starts it.
func (p *tape) call(id, args string, starts string) string {
	p.t.Helper()
	item := p.begin(event.Content{Type: event.ToolCall})
	in := event.Event{Turn: p.id(), Attempt: p.state.Running().Attempt().ID, Item: item}
	ready, started := in, in
	ready.Data, started.Data = event.CallReady{Name: "look", CallID: id, Arguments: args}, event.CallStarted{}
	p.add(ready)
	if starts == "starts" {
		p.add(started)
	}
	return item
}

func (p *tape) gives(item, output string) *tape {
	p.t.Helper()
	c := p.state.Running().Item(item).Content()
	c.Output, c.Provider, c.Model = output, "p", "m"
	return p.end(item, event.ItemEnded{Status: event.ItemCompleted, Content: c})
}

func (p *tape) endAttempt() *tape {
	p.t.Helper()
	return p.add(
		event.Event{
			Turn:    p.id(),
			Attempt: p.state.Running().Attempt().ID,
			Data:    event.AttemptEnded{Outcome: event.Completed},
		},
	)
}

func (p *tape) ends(c *event.Cause) *tape {
	p.t.Helper()
	return p.add(event.Endings(p.state, c)...)
}

func target() history.Target { return history.Target{Provider: "p", Model: "m"} }

// TestSignaturesReturnToTheirProvider: a provider signature of an item is sent to its provider
// only.
func TestSignaturesReturnToTheirProvider(t *testing.T) {
	p := newTape(t).turn("hi").attempt()
	p.item(
		event.Content{
			Type:      event.Message,
			Text:      "I look.",
			Signature: &model.ProviderSignature{Format: event.SignaturePhase, Data: "commentary"},
		},
	)
	members := &model.ProviderSignature{Format: event.SignatureMembers, Data: `{"extra_content":{}}`}
	item := p.begin(event.Content{Type: event.ToolCall})
	p.add(
		event.Event{
			Turn:    p.id(),
			Attempt: p.state.Running().Attempt().ID,
			Item:    item,
			Data:    event.CallReady{Name: "look", CallID: "a", Arguments: "{}", Signature: members},
		},
	)
	p.endAttempt() // the call has not started: its data are in the log
	for name, want := range map[string]int{"m": 2, "other": 0} {
		to := target()
		to.Model = name
		n := 0
		for _, i := range history.Request(p.state, to, "", nil).Input {
			if i.Signature != nil {
				n++
			}
		}
		if n != want {
			t.Errorf("%d items have what their provider attached, for model %q, want %d", n, name, want)
		}
	}
}

const slip = "user: [Your last answer was not passed on: no such tool. Call one of the tools, with arguments that its schema allows.]\n"

// show prints a conversation in short.
func show(items []model.Item) string {
	var b strings.Builder
	for _, i := range items {
		fmt.Fprintf(&b, "%s", i.Role)
		if i.CallID != "" {
			fmt.Fprintf(&b, " %s", i.CallID)
		}
		if n := len(i.Images); n > 0 {
			fmt.Fprintf(&b, " with %d image", n)
		}
		if i.Failed {
			b.WriteString(" failed")
		}
		if s := i.Text + i.Arguments; s != "" {
			fmt.Fprintf(&b, ": %s", s)
		}
		b.WriteString("\n")
	}
	return b.String()
}

var signature = &model.ProviderSignature{Format: "signature", Data: "xyz"}

func TestRequest(t *testing.T) {
	user := event.Abort(event.Interrupted, "user")
	cases := map[string]struct {
		log    func(p *tape)
		target func(*history.Target)
		want   string
	}{
		"a turn with a call": {
			log: func(p *tape) {
				p.turn("hi").attempt().thought("hm", signature).text("I look.")
				a := p.call("a", `{}`, "starts")
				b := p.call("b", `{"x":1}`, "starts")
				p.endAttempt().gives(b, "B").gives(a, "A")
			},
			want: "user: hi\nreasoning: hm\nassistant: I look.\ncall a: {}\ncall b: {\"x\":1}\noutput a: A\noutput b: B\n",
		},
		"interrupted in the middle of text": {
			log: func(p *tape) {
				p.turn("hi").attempt().thought("hm", signature)
				item := p.begin(event.Content{Type: event.Message})
				p.add(
					event.Event{
						Turn:    p.id(),
						Item:    item,
						Attempt: p.state.Running().Attempt().ID,
						Data:    event.ItemDelta{Stream: event.Text, Text: "half"},
					},
				)
				p.ends(user).turn("go on").attempt()
			},
			want: "user: hi\nassistant: half\nuser: [The turn was interrupted by the user here. Do not resume it unless the user asks.]\nuser: go on\n",
		},
		"interrupted in calls": {
			log: func(p *tape) {
				p.turn("hi").attempt().thought("hm", signature)
				p.call("a", `{}`, "starts")
				p.call("b", `{}`, "waits")
				p.begin(event.Content{Type: event.ToolCall})
				p.ends(user).turn("go on").attempt()
			},
			want: "user: hi\nreasoning: hm\ncall a: {}\ncall b: {}\n" +
				"output a failed: The call was interrupted by the user after 4.0 s; its effects are unknown: check before you repeat it. It had no output.\n" +
				"output b failed: The call was interrupted by the user before it started; it had no effects.\n" +
				"user: [The turn was interrupted by the user here. Do not resume it unless the user asks.]\nuser: go on\n",
		},
		"killed in a call: when it ended is unknown": {
			log: func(p *tape) {
				p.turn("hi").attempt()
				p.call("a", `{}`, "starts")
				p.ends(event.Abort(event.Crashed, "")).turn("go on").attempt()
			},
			want: "user: hi\ncall a: {}\n" +
				"output a failed: The call was aborted because settle was killed; its effects are unknown: " +
				"check before you repeat it. It had no output.\n" +
				"user: [The turn was aborted because settle was killed here. " +
				"Do not resume it unless the user asks.]\nuser: go on\n",
		},
		"a failed attempt keeps its started calls": {
			log: func(p *tape) {
				p.turn("hi").attempt().thought("hm", signature)
				a := p.call("a", `{}`, "starts")
				p.text("lost")
				p.add(event.AttemptEndings(p.state, event.Fail(&event.Failure{}), event.AttemptEnded{})...)
				p.gives(a, "A").attempt()
			},
			want: "user: hi\nreasoning: hm\ncall a: {}\noutput a: A\n",
		},
		"text after a call": {
			log: func(p *tape) {
				p.turn("hi").attempt()
				a := p.call("a", `{}`, "starts")
				p.text("meanwhile").endAttempt().gives(a, "A")
			},
			want: "user: hi\ncall a: {}\noutput a: A\n",
		},
		"text after a call, where it may be": {
			log: func(p *tape) {
				p.turn("hi").attempt()
				a := p.call("a", `{}`, "starts")
				p.text("meanwhile").endAttempt().gives(a, "A")
			},
			target: func(t *history.Target) { t.TextAfterCalls = true },
			want:   "user: hi\ncall a: {}\nassistant: meanwhile\noutput a: A\n",
		},
		"a thought after the last call goes with its text": {
			log: func(p *tape) {
				p.turn("hi").attempt().thought("hm", signature)
				a := p.call("a", `{}`, "starts")
				p.thought("then", signature).text("meanwhile").endAttempt().gives(a, "A")
			},
			want: "user: hi\nreasoning: hm\ncall a: {}\noutput a: A\n",
		},
		"a thought after the last call, where text may be": {
			log: func(p *tape) {
				p.turn("hi").attempt()
				a := p.call("a", `{}`, "starts")
				p.thought("then", signature).text("meanwhile").endAttempt().gives(a, "A")
			},
			target: func(t *history.Target) { t.TextAfterCalls = true },
			want:   "user: hi\ncall a: {}\nreasoning: then\nassistant: meanwhile\noutput a: A\n",
		},
		"an empty message between a thought and its call": {
			log: func(p *tape) {
				p.turn("hi").attempt().thought("hm", signature).text("\n\n")
				p.gives(p.call("a", `{}`, "starts"), "A").endAttempt()
			},
			want: "user: hi\nreasoning: hm\ncall a: {}\noutput a: A\n",
		},
		"words between calls": {
			log: func(p *tape) {
				p.turn("hi").attempt().text("First.")
				a := p.call("a", `{}`, "starts")
				p.text("Then.").text("And.")
				b := p.call("b", `{}`, "starts")
				p.endAttempt().gives(a, "A").gives(b, "B")
			},
			want: "user: hi\nassistant: First.\nassistant: Then.\nassistant: And.\ncall a: {}\ncall b: {}\noutput a: A\noutput b: B\n",
		},
		"words between calls, where they may be": {
			log: func(p *tape) {
				p.turn("hi").attempt()
				a := p.call("a", `{}`, "starts")
				p.text("Then.")
				b := p.call("b", `{}`, "starts")
				p.endAttempt().gives(a, "A").gives(b, "B")
			},
			target: func(t *history.Target) { t.TextAfterCalls = true },
			want:   "user: hi\ncall a: {}\nassistant: Then.\ncall b: {}\noutput a: A\noutput b: B\n",
		},
		"thoughts in a row": {
			log: func(p *tape) {
				p.turn("hi").
					attempt().
					thought("hm", signature).
					thought("so", signature).
					text("yes").
					endAttempt().
					ends(event.Complete()).
					turn("more").
					attempt()
			},
			want: "user: hi\nreasoning: hm\nreasoning: so\nassistant: yes\nuser: more\n",
		},
		"thoughts in a row, and nothing after them": {
			log: func(p *tape) {
				p.turn("hi").
					attempt().
					thought("hm", signature).
					thought("so", signature).
					endAttempt().
					ends(event.Complete()).
					turn("more").
					attempt()
			},
			want: "user: hi\nuser: more\n",
		},
		"a thought before one without a signature": {
			log: func(p *tape) {
				p.turn("hi").
					attempt().
					thought("hm", signature).
					thought("so", nil).
					text("yes").
					endAttempt().
					ends(event.Complete()).
					turn("more").
					attempt()
			},
			want: "user: hi\nassistant: yes\nuser: more\n",
		},
		"a thought before a call whose id is replaced": {
			log: func(p *tape) {
				p.turn("hi").attempt().thought("hm", signature)
				p.gives(p.call("", `{}`, "starts"), "A").endAttempt()
			},
			want: "user: hi\ncall x00000002: {}\noutput x00000002: A\n",
		},
		"an id of its own making": { // Kimi
			log: func(p *tape) {
				p.turn("hi").attempt().thought("hm", signature)
				p.gives(p.call("functions.weather:0", `{}`, "starts"), "A").endAttempt()
			},
			want: "user: hi\nreasoning: hm\ncall functions.weather:0: {}\noutput functions.weather:0: A\n",
		},
		"an id of another model's making": {
			log: func(p *tape) {
				p.turn("hi").attempt().thought("hm", signature)
				p.gives(p.call("functions.weather:0", `{}`, "starts"), "A").endAttempt()
			},
			target: func(t *history.Target) { t.Model = "other" },
			want:   "user: hi\ncall x00000002: {}\noutput x00000002: A\n",
		},
		"a signature after its call, where it is a field of the response": {
			log: func(p *tape) {
				p.turn("hi").attempt()
				call := p.call("a", `{}`, "starts")
				p.thought("", &model.ProviderSignature{Format: event.SignatureDetails, Data: "[]"}).
					gives(call, "A").endAttempt()
			},
			target: func(t *history.Target) { t.ReasoningField = true },
			want:   "user: hi\ncall a: {}\nreasoning\noutput a: A\n",
		},
		"a field of a response of which nothing else goes back": {
			log: func(p *tape) {
				p.turn("hi").
					attempt().
					thought("hm", nil).
					text(" ").
					endAttempt().
					ends(event.Complete()).
					turn("more").
					attempt()
			},
			target: func(t *history.Target) { t.ReasoningField = true },
			want:   "user: hi\nuser: more\n",
		},
		"a thought before a call that did not happen": {
			log: func(p *tape) {
				p.turn("hi").attempt().thought("hm", signature)
				p.begin(event.Content{Type: event.ToolCall})
				p.ends(user).turn("go on").attempt()
			},
			want: "user: hi\nuser: [The turn was interrupted by the user here. Do not resume it unless the user asks.]\nuser: go on\n",
		},
		"thoughts without signatures, where that may be": {
			log: func(p *tape) {
				p.turn("hi").
					attempt().
					thought("hm", nil).
					thought(" ", nil).
					text(" ").
					thought("so", nil).
					text("yes").
					endAttempt().
					ends(event.Complete()).
					turn("more").
					attempt()
			},
			target: func(t *history.Target) { t.ReasoningField = true },
			want:   "user: hi\nreasoning: hm\nreasoning: so\nassistant: yes\nuser: more\n",
		},
		"calls without output": {
			log: func(p *tape) {
				p.turn("hi").attempt()
				a, b := p.call("a", `{}`, "starts"), p.call("b", `{}`, "starts")
				p.add(
					event.Event{Data: event.JobStarted{Job: "j1", PID: 1, Command: "web"}},
					event.Event{Data: event.JobStarted{Job: "j2", PID: 2, Command: "other"}},
				)
				c := p.state.Running().Item(a).Content()
				c.Jobs = []string{"j1"}
				p.end(a, event.ItemEnded{Status: event.ItemFailed, Content: c})
				p.gives(b, " ").endAttempt()
			},
			want: "user: hi\ncall a: {}\ncall b: {}\noutput a failed: The call failed without output.\n[Still running as job j1: web]\noutput b: The call had no output.\n",
		},
		"another model's reasoning": {
			log: func(p *tape) {
				p.turn("hi").
					attempt().
					thought("hm", signature).
					text("yes").
					endAttempt().
					ends(event.Complete()).
					turn("more").
					attempt()
			},
			target: func(t *history.Target) { t.Model = "other" },
			want:   "user: hi\nassistant: yes\nuser: more\n",
		},
		"reasoning without a signature, or with nothing after it": {
			log: func(p *tape) {
				p.turn("hi").
					attempt().
					thought("unsigned", nil).
					text("yes").
					thought("alone", signature).
					endAttempt().
					ends(event.Complete()).
					turn("more").
					attempt()
			},
			want: "user: hi\nassistant: yes\nuser: more\n",
		},
		"calls that no provider would take": {
			log: func(p *tape) {
				p.turn("hi").attempt()
				a := p.call("", `{"x":`, "waits")
				b := p.call("same", `{}`, "starts")
				c := p.call("same", ``, "starts")
				d := p.call("bad id!", `[1]`, "starts")
				p.endAttempt().gives(b, "B").gives(c, "").gives(d, "D")
				p.end(a, event.ItemEnded{Status: event.ItemFailed, Content: func() event.Content {
					c := p.state.Running().Item(a).Content()
					c.Output = "not JSON"
					return c
				}()})
			},
			want: "user: hi\ncall x00000001: {\"invalid_arguments\":\"{\\\"x\\\":\"}\ncall same: {}\ncall x00000003: {}\ncall bad id!: {\"invalid_arguments\":\"[1]\"}\n" +
				"output x00000001 failed: not JSON\noutput same: B\noutput x00000003: The call had no output.\noutput bad id!: D\n",
		},
		"calls that the provider did not pass on": { // Groq
			log: func(p *tape) {
				failed := &event.Failure{Name: event.NameProvider, Kind: "tool_use_failed", Message: "no such tool"}
				p.turn("hi")
				for range 2 {
					p.attempt()
					p.add(event.AttemptEndings(p.state, event.Fail(failed), event.AttemptEnded{})...)
				}
				p.attempt().text("yes").endAttempt().ends(event.Complete()).turn("more").attempt()
			},
			want: "user: hi\n" + slip + slip + "assistant: yes\nuser: more\n",
		},
		"nothing but the model's words": {
			log:  func(p *tape) { p.turn("hi").attempt().text("yes").endAttempt().attempt() },
			want: "user: hi\nassistant: yes\nuser: Continue.\n",
		},
		"empty messages": {
			log: func(p *tape) {
				p.turn("hi").attempt().text("  \n").endAttempt().ends(event.Complete()).turn("more").attempt()
			},
			want: "user: hi\nuser: more\n",
		},
		"steered": {
			log: func(p *tape) {
				p.turn("hi").attempt()
				a := p.call("a", `{}`, "starts")
				p.endAttempt().gives(a, "A")
				p.add(event.Event{Data: event.InputAccepted{Input: "steer", Text: "rather this", Mode: event.Steer}})
				p.attempt("steer").text("ok").endAttempt()
			},
			want: "user: hi\ncall a: {}\noutput a: A\nuser: rather this\nassistant: ok\nuser: Continue.\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, to := newTape(t), target()
			tc.log(p)
			if tc.target != nil {
				tc.target(&to)
			}
			got := history.Request(p.state, to, "sys", nil)
			if diff := cmp.Diff(tc.want, show(got.Input)); diff != "" {
				t.Error(diff)
			}
			for _, i := range got.Input {
				if i.Role == model.Call && !json.Valid([]byte(i.Arguments)) {
					t.Errorf("arguments %q", i.Arguments)
				}
			}
		})
	}
}

func TestImages(t *testing.T) {
	p := newTape(t)
	p.add(
		event.Event{
			Data: event.InputAccepted{
				Input:  "x",
				Images: []event.Image{{MediaType: "image/png", Data: []byte("png"), Name: "a.png"}},
			},
		},
	)
	p.add(event.Event{Turn: "t000001", Data: event.TurnStarted{Inputs: []string{"x"}}})
	seeing := history.Request(p.state, target(), "", nil).Input
	if len(seeing) != 1 || len(seeing[0].Images) != 1 {
		t.Errorf("a model that sees gets %+v", seeing)
	}
	to := target()
	to.NoImages = true
	if got := show(history.Request(p.state, to, "", nil).Input); got != "user: [a.png: omitted because the model cannot see images]\n" {
		t.Errorf("a model that does not see gets %q", got)
	}
}

// long is a turn with n calls whose outputs are long, and one more that the
// model has not seen the output of.
func long(t *testing.T, n int) event.State {
	p := newTape(t).turn("hi")
	for k := range n + 1 {
		p.attempt()
		a := p.call(fmt.Sprint("c", k), `{}`, "starts")
		p.endAttempt().gives(a, strings.Repeat("word ", 2000))
	}
	return p.state
}

func TestRoom(t *testing.T) {
	state := long(t, 20)
	whole := history.Request(state, target(), "sys", nil)
	if whole.Trimmed != 0 || whole.MaxTokens != 0 {
		t.Fatalf("without a known window: trimmed %d, max %d", whole.Trimmed, whole.MaxTokens)
	}
	to := target()
	to.MaxOutput = 8_000
	for _, tc := range []struct{ window, trimmed, most int }{
		{window: whole.Tokens + 9_000, trimmed: 0, most: 8_000},
		{window: whole.Tokens + 4_000, trimmed: 7, most: 8_000},
		{window: 20_000, trimmed: 19, most: 8_000},
	} {
		to.Window = tc.window
		got := history.Request(state, to, "sys", nil)
		if got.Trimmed != tc.trimmed || got.MaxTokens != tc.most {
			t.Errorf(
				"window %d: %d tokens, trimmed %d, max %d; want %d, %d", tc.window, got.Tokens, got.Trimmed,
				got.MaxTokens, tc.trimmed, tc.most,
			)
		}
		if last := got.Input[len(got.Input)-1].Text; len(last) != 10_000 {
			t.Errorf("window %d: the newest output was trimmed to %d bytes", tc.window, len(last))
		}
		again := history.Request(state, to, "sys", nil)
		if diff := cmp.Diff(got, again, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Activity" }, cmp.Ignore())); diff != "" {
			t.Errorf("not deterministic: %s", diff)
		}
	}
	if n := len(state.Turns[0].Items[0].Content().Output); n != 10_000 {
		t.Errorf("trimming changed the log: %d bytes", n)
	}
}

// An input that was too long for the model does not block later inputs (C6): only the latest input
// must fit unchanged.
func TestALongInputIsNoDeadEnd(t *testing.T) {
	giant := "begin" + strings.Repeat("é", 200_000) + "end"
	p := newTape(t).turn(giant).attempt()
	to := target()
	to.Window, to.MaxOutput = 20_000, 4_000
	if got := history.Request(p.state, to, "sys", nil); got.Trimmed != 0 || got.Input[0].Text != giant {
		t.Errorf("the latest input was cut to %d bytes", len(got.Input[0].Text))
	}
	p.ends(event.Fail(&event.Failure{Name: "ContextOverflowError", Message: "too long"})).turn("now this").attempt()
	got := history.Request(p.state, to, "sys", nil)
	text := got.Input[0].Text
	if got.Trimmed != 1 || got.Tokens > 16_000 || !utf8.ValidString(text) || !strings.HasPrefix(text, "begin") ||
		!strings.HasSuffix(text, "end") || !strings.Contains(text, " bytes of this message were omitted") {
		t.Errorf("trimmed %d, %d tokens, %d bytes: %.60q", got.Trimmed, got.Tokens, len(text), text)
	}
	if last := got.Input[len(got.Input)-1].Text; !strings.HasSuffix(last, "now this") {
		t.Errorf("the latest input is %q", last)
	}
	to.Window = 0
	if got := history.Request(p.state, to, "sys", nil); got.Input[0].Text != giant {
		t.Error("it was cut for a model of unknown size")
	}
}

// TestSchema: the schema is from the input that the turn is for, or from an input that joined it
// later; an input that was held for another turn does not count.
func TestSchema(t *testing.T) {
	accepted := func(p *tape, in, schema string) {
		p.add(
			event.Event{
				Data: event.InputAccepted{Input: in, Text: in, Mode: event.Steer, Schema: json.RawMessage(schema)},
			},
		)
	}
	want := func(s event.State, want string, joining ...event.Input) {
		t.Helper()
		if got := string(history.Request(s, target(), "", nil, joining...).Schema); got != want {
			t.Errorf("the schema is %s, want %s", got, want)
		}
	}
	p := newTape(t)
	want(p.state, "")
	accepted(p, "held", `{"title":"held"}`)
	accepted(p, "plain", "")
	p.add(event.Event{Turn: p.state.NextTurn(), Data: event.TurnStarted{Inputs: []string{"held", "plain"}}})
	want(p.state, "")
	accepted(p, "joins", `{"title":"joins"}`)
	p.attempt("joins").text("fine").endAttempt()
	want(p.state, `{"title":"joins"}`)
	want(
		p.state,
		`{"title":"later"}`,
		event.Input{ID: "x", Schema: json.RawMessage(`{"title":"later"}`)},
		event.Input{ID: "y"},
	)
	p.add(event.Event{Turn: p.id(), Data: event.TurnCompleted{}})
	accepted(p, "next", `{"title":"next"}`)
	p.add(event.Event{Turn: p.state.NextTurn(), Data: event.TurnStarted{Inputs: []string{"next"}}})
	want(p.state, `{"title":"next"}`)
}
