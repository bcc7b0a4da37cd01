package settle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/modeltest"
	"github.com/settle-agent/settle/tool"
)

// wires are the real providers with the strict model server.
var wires = map[string]struct {
	provider func(client *http.Client) model.Provider
	traits   model.Traits
}{
	"responses": {
		func(c *http.Client) model.Provider {
			return openai.New(openai.Options{Endpoint: transport.Endpoint{BaseURL: "http://model.test/v1", Client: c}})
		},
		model.Traits{TextAfterCalls: true},
	},
	"messages": {
		func(c *http.Client) model.Provider {
			return anthropic.New(
				anthropic.Options{Endpoint: transport.Endpoint{BaseURL: "http://model.test", Client: c}},
			)
		},
		model.Traits{MaxOutput: 8_000},
	},
	"chat": {
		func(c *http.Client) model.Provider {
			return chat.New(chat.Options{Endpoint: transport.Endpoint{BaseURL: "http://model.test/v1", Client: c}})
		},
		model.Traits{TextAfterCalls: true, ReasoningField: true},
	},
}

// scripts are turns of the model, each with something that can be cut.
var scripts = map[string][]modeltest.Turn{
	"text": {modeltest.Say("Here is a longer answer, in several deltas.").Paced(time.Second)},
	"reasoning": {
		modeltest.Reply(modeltest.Think("Let me think about this."), modeltest.Text("Yes.")).Paced(time.Second),
	},
	"calls": {
		modeltest.Reply(modeltest.Think("Look at both."), modeltest.Text("I look."), modeltest.Call("look", `{"at":"a"}`), modeltest.Call("look", `{"at":"b"}`)).
			Paced(time.Second),
		modeltest.Reply(modeltest.Think("Again."), modeltest.Call("look", `{"at":"c"}`)).Paced(time.Second),
		modeltest.Say("Done."),
	},
	"retried after a call": {
		modeltest.Reply(modeltest.Think("Look."), modeltest.Call("look", `{"at":"a"}`), modeltest.Text("Meanwhile I talk.")).
			Paced(time.Second).
			With(modeltest.Reset(modeltest.AfterCall(1)).First(1)),
		modeltest.Say("Done."),
	},
	"cut within arguments": {
		modeltest.Reply(modeltest.Text("Now."), modeltest.Call("look", `{"at":"a"}`)).
			With(modeltest.Cut(modeltest.WithinArguments(1)).First(1)),
		modeltest.Say("Done."),
	},
	"bad calls": {
		modeltest.Reply(modeltest.Call("look", `{"at":`), modeltest.Call("nope", `{}`), modeltest.Call("look", `[]`)),
		modeltest.Say("Done."),
	},
	"overloaded": {
		modeltest.Say("Done.").With(modeltest.Status(529).First(2)),
	},
}

// look is a tool that takes two seconds and cannot be cancelled in the third.
type look struct{}

func (look) Spec() tool.Spec {
	return tool.Spec{
		Name: "look", Description: "Looks.", ReadOnly: true,
		Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`),
	}
}

func (look) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	c.Progress("looking")
	select {
	case <-time.After(2 * time.Second):
		return tool.Result{Output: "seen"}, nil
	case <-ctx.Done():
		return tool.Result{Aborted: true}, nil
	}
}

// stage is one session against the strict server, under virtual time.
type stage struct {
	t       *testing.T
	server  *modeltest.Server
	wire    string
	host    *settle.Host
	session *settle.Session
	seen    *callChecker
}

func newStage(t *testing.T, wire string, turns []modeltest.Turn) *stage {
	t.Helper()
	return newStageIn(t, "", wire, turns)
}

func newStageIn(t *testing.T, dir, wire string, turns []modeltest.Turn) *stage {
	t.Helper()
	scenario := modeltest.Script(turns...)
	scenario.Answer = func(modeltest.Request) modeltest.Turn { return modeltest.Say("Fine.") }
	server := modeltest.NewMemoryServer(t, scenario)
	s := &stage{t: t, server: server, wire: wire, seen: &callChecker{t: t, open: map[string]event.Event{}}}
	s.open(dir)
	return s
}

// open opens the session on the directory, as a new host does.
func (s *stage) open(dir string) {
	s.t.Helper()
	w := wires[s.wire]
	var err error
	if s.host, err = settle.Open(s.t.Context(), settle.Config{DataDir: dir, Observer: s.seen.observer()}); err != nil {
		s.t.Fatal(err)
	}
	if s.session, err = s.host.Session(s.t.Context(), "s", settle.SessionConfig{
		Model: model.Config{Provider: w.provider(s.server.Client()), ProviderName: s.wire, Name: "claude-sonnet-4-5", Traits: w.traits},
		Tools: []tool.Tool{look{}},
	}); err != nil {
		s.t.Fatal(err)
	}
}

// run runs one input to its end.
func (s *stage) run(text string) (settle.Outcome, error) {
	s.t.Helper()
	turn, err := s.session.Submit(s.t.Context(), text)
	if err != nil {
		s.t.Fatal(err)
	}
	return turn.Wait(s.t.Context())
}

// check closes the session and checks its log against the contract; the server checks C6.
func (s *stage) check() []event.Event {
	s.t.Helper()
	if err := s.host.Close(context.Background()); err != nil {
		s.t.Error(err)
	}
	var events []event.Event
	for e, err := range s.session.Events(context.Background(), 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := contract.Check(events); err != nil {
		s.t.Error(err)
	}
	s.seen.check(events)
	for _, refusal := range s.server.Refusals() {
		s.t.Errorf("C6: the provider refused a request: %s", refusal)
	}
	return events
}

// A turn that is interrupted at any event ends by the contract, and the provider accepts the
// next request.
func TestInterruptAtEveryEvent(t *testing.T) {
	for wire := range wires {
		for name, turns := range scripts {
			t.Run(wire+"/"+name, func(t *testing.T) {
				whole := 0
				synctest.Test(t, func(t *testing.T) {
					s := newStage(t, wire, turns)
					if o, err := s.run("go"); err != nil {
						t.Errorf("uninterrupted: %+v, %v", o, err)
					}
					whole = len(s.check())
				})
				for n := 3; n < whole-1; n++ {
					t.Run(fmt.Sprint(n), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { interruptAt(t, newStage(t, wire, turns), uint64(n)) })
					})
				}
			})
		}
	}
}

func interruptAt(t *testing.T, s *stage, seq uint64) {
	t.Helper()
	turn, err := s.session.Submit(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range turn.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq == seq {
			break
		}
	}
	asked := time.Now()
	o, err := s.session.Interrupt(t.Context(), settle.Interruption{By: "user"})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(asked); took > 500*time.Millisecond {
		t.Errorf("C9: ended %v after the interrupt", took)
	}
	if o.Cause != nil && !o.Completed() && o.Cause.Reason != event.Interrupted {
		t.Errorf("ended with %v", o.Cause)
	}
	if _, err := s.run("And now?"); err != nil {
		t.Errorf("the turn after the interrupt: %v", err)
	}
	s.check()
}

// If the host is killed at any event, the session opens, the open entities have ended, and the
// provider accepts the next request (C2, C6, C20). kill -9 leaves the log of a complete turn,
// cut after any record.
func TestKilledAfterEveryEvent(t *testing.T) {
	for wire := range wires {
		for name, turns := range scripts {
			t.Run(wire+"/"+name, func(t *testing.T) {
				whole, cut := t.TempDir(), t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					s := newStageIn(t, whole, wire, turns)
					if _, err := s.run("go"); err != nil {
						t.Fatal(err)
					}
					s.check()
					log, err := os.ReadFile(filepath.Join(whole, "sessions", "s.log"))
					if err != nil {
						t.Fatal(err)
					}
					records := bytes.SplitAfter(log, []byte("\n"))
					for n := 2; n < len(records)-1; n++ {
						path := filepath.Join(cut, "sessions", "s.log")
						if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
							t.Fatal(err)
						}
						if err := os.WriteFile(path, bytes.Join(records[:n], nil), 0o600); err != nil {
							t.Fatal(err)
						}
						s.open(cut)
						if _, err := s.run("And now?"); err != nil {
							t.Errorf("the turn after record %d: %v", n, err)
						}
						s.check()
					}
				})
			})
		}
	}
}

func TestOutcomes(t *testing.T) {
	cases := map[string]struct {
		turn modeltest.Turn
		want func(err error) bool
	}{
		"wrong key": {modeltest.Fail(modeltest.Status(401)), failsWith("ProviderError", 401)},
		"exhausted": {
			modeltest.Fail(modeltest.Status(500).First(modeltest.Always)),
			failsWith("TerminalRetryExhaustedError", 500),
		},
		"html": {
			modeltest.Fail(modeltest.HTML().First(modeltest.Always)),
			failsWith("TerminalRetryExhaustedError", 0),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, "messages", []modeltest.Turn{tc.turn})
				if _, err := s.run("go"); !tc.want(err) {
					t.Errorf("err = %#v", err)
				}
				s.check()
			})
		})
	}
}

func failsWith(name string, status int) func(error) bool {
	return func(err error) bool {
		var f *event.Failure
		return errors.As(err, &f) && f.Name == name && (status == 0 || f.Status == status)
	}
}
