package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool"
)

// disk is a store that outlives its log, as a file does.
type disk struct {
	mu     sync.Mutex
	events []event.Event
	most   int // the process is killed after that many events; 0 for never
}

func (d *disk) Append(batch []event.Event, _ journal.Sync) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, batch...)
	if d.most > 0 && len(d.events) > d.most {
		d.events = d.events[:d.most]
	}
	return nil
}

func (d *disk) Read(_ context.Context, after uint64) iter.Seq2[event.Event, error] {
	d.mu.Lock()
	events := d.events
	d.mu.Unlock()
	return func(yield func(event.Event, error) bool) {
		for _, e := range events {
			if e.Seq > after && !yield(e, nil) {
				return
			}
		}
	}
}

func (d *disk) Close() error { return nil }

// reopen returns a disk with the written events, and the state after these events.
func (d *disk) reopen(t *testing.T) (*disk, event.State) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	fresh := &disk{events: append([]event.Event(nil), d.events...)}
	state := event.State{Session: "s"}
	for _, e := range fresh.events {
		var err error
		if state, err = event.Fold(state, e); err != nil {
			t.Fatal(err)
		}
	}
	return fresh, state
}

// bench is an open session under virtual time.
type bench struct {
	t *testing.T
	*session.Session
	disk *disk
}

func open(t *testing.T, d *disk, state event.State, m *script.Model, tools ...tool.Tool) *bench {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(session.Config{
		Log: journal.New(d, state), Opened: event.SessionOpened{Dir: "/work"},
		Sweep: func([]string) []int { return []int{4711} },
		Turn: turn.Config{
			Requests: turn.Requests{
				Model:      model.Config{Provider: m, ProviderName: "script", Name: "m"},
				Compaction: turn.CompactionAuto,
			},
			Execution: turn.Execution{Tools: set, Dir: "/work"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background(), "", "test"); err != nil {
			t.Error(err)
		}
	})
	return &bench{t: t, Session: s, disk: d}
}

func fresh(t *testing.T, m *script.Model, tools ...tool.Tool) *bench {
	t.Helper()
	return open(t, &disk{}, event.State{Session: "s"}, m, tools...)
}

func (b *bench) submit(text string, mode event.Mode) session.Receipt {
	b.t.Helper()
	r, err := b.Submit(b.t.Context(), run.Input{Text: text, Mode: mode, By: "user"})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) state() (state event.State) {
	b.Log().View(func(s event.State) { state = s.Clone() })
	return state
}

// want checks the turns: "inputs: outcome reason", and the waiting inputs.
func (b *bench) want(turns []string, waiting ...string) {
	b.t.Helper()
	s := b.state()
	var got, waits []string
	for _, t := range s.Turns {
		var in []string
		for _, i := range t.Inputs {
			in = append(in, i.Text)
		}
		for _, a := range t.Attempts {
			for _, i := range a.Inputs {
				in = append(in, "+"+i.Text)
			}
		}
		end := "running"
		if t.Cause != nil {
			end = strings.TrimSpace(fmt.Sprintf("%s %s", t.Cause.Outcome, t.Cause.Reason))
		}
		got = append(got, strings.Join(in, " ")+": "+end)
	}
	for _, i := range s.Waiting {
		text := i.Text
		if i.Held {
			text += " held"
		}
		waits = append(waits, text)
	}
	if fmt.Sprint(got) != fmt.Sprint(turns) || fmt.Sprint(waits) != fmt.Sprint(waiting) {
		b.t.Errorf("turns %q, waiting %q\nwant  %q, waiting %q", got, waits, turns, waiting)
	}
}

// slow answers each request after ten seconds.
func slow(texts ...string) *script.Model {
	m := script.New()
	for _, text := range texts {
		m.Add(script.Turn(script.Headers(), script.Delay(10*time.Second), script.Text(text)))
	}
	return m
}

func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func TestInputs(t *testing.T) {
	bubble(t, "queue", func(t *testing.T) {
		b := fresh(t, slow("1", "2", "3"))
		b.submit("a", "")
		b.submit("b", "")
		b.submit("c", event.Queue)
		b.want([]string{"a: running"}, "b", "c")
		time.Sleep(time.Minute)
		b.want([]string{"a: completed", "b: completed", "c: completed"})
	})
	bubble(t, "replace", func(t *testing.T) {
		b := fresh(t, slow("1", "2", "3"))
		b.submit("a", "")
		b.submit("b", "")
		time.Sleep(time.Second)
		b.submit("c", event.Replace)
		time.Sleep(time.Minute)
		b.want([]string{"a: aborted replaced", "c: completed", "b: completed"})
	})
	bubble(t, "steer", func(t *testing.T) {
		look := call("look", 30*time.Second)
		b := fresh(t, script.New(script.Turn(script.Call("look", `{}`)), script.Text("ok")), look)
		b.submit("a", "")
		time.Sleep(time.Second)
		b.submit("b", event.Steer)
		time.Sleep(time.Minute)
		b.want([]string{"a +b: completed"})
	})
	bubble(t, "steer without a turn", func(t *testing.T) {
		b := fresh(t, slow("1"))
		b.submit("a", event.Steer)
		time.Sleep(time.Minute)
		b.want([]string{"a: completed"})
	})
	bubble(t, "held by an interrupt, taken along by the next", func(t *testing.T) {
		b := fresh(t, slow("1", "2", "3"))
		b.submit("a", "")
		b.submit("b", "")
		b.submit("c", "")
		time.Sleep(time.Second)
		if o, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil ||
			o.Cause.Reason != event.Interrupted {
			t.Fatal(o, err)
		}
		b.want([]string{"a: aborted interrupted"}, "b held", "c held")
		if dropped, err := b.Drop("n000003", "user"); !dropped || err != nil {
			t.Fatal(dropped, err)
		}
		b.submit("d", "")
		time.Sleep(time.Minute)
		b.want([]string{"a: aborted interrupted", "b d: completed"})
	})
	bubble(t, "sent twice", func(t *testing.T) {
		b := fresh(t, slow("1", "2"))
		for n := range 3 {
			r, err := b.Submit(t.Context(), run.Input{ID: "mine", Text: "a"})
			if err != nil || r.Duplicate != (n > 0) {
				t.Fatal(r, err)
			}
		}
		time.Sleep(time.Minute)
		b.want([]string{"a: completed"})
	})
}

// An input that no provider accepts would be part of every later request.
func TestRefusedInputs(t *testing.T) {
	bubble(t, "images", func(t *testing.T) {
		b := fresh(t, slow())
		for _, image := range []event.Image{{MediaType: "image/png"}, {MediaType: "image/bmp", Data: []byte("x")}, {Data: []byte("x")}, {MediaType: "image/png", Data: []byte("BM, a bitmap")}} {
			if _, err := b.Submit(t.Context(), run.Input{Text: "see", Images: []event.Image{image}}); err == nil {
				t.Errorf("%q with %d bytes was accepted", image.MediaType, len(image.Data))
			}
		}
		b.want(nil)
	})
	bubble(t, "an image that is another", func(t *testing.T) { // providers compare it with its data
		b := fresh(t, slow("1"))
		image := event.Image{MediaType: "image/png", Data: []byte("\xff\xd8\xff\xe0, a photograph"), Name: "a.png"}
		if _, err := b.Submit(t.Context(), run.Input{Text: "see", Images: []event.Image{image}}); err != nil {
			t.Fatal(err)
		}
		if got := b.state().Turns[0].Inputs[0].Images[0].MediaType; got != "image/jpeg" ||
			image.MediaType != "image/png" {
			t.Errorf("it is kept as %q", got)
		}
	})
	bubble(t, "schemas that are none", func(t *testing.T) {
		b := fresh(t, slow())
		for _, schema := range []string{"null", "[]", `{"type":`, `"object"`} {
			if _, err := b.Submit(t.Context(), run.Input{Text: "see", Schema: json.RawMessage(schema)}); err == nil {
				t.Errorf("%s was accepted", schema)
			}
		}
		b.want(nil)
	})
	bubble(t, "empty", func(t *testing.T) {
		b := fresh(t, slow())
		if _, err := b.Submit(t.Context(), run.Input{Text: " \n"}); !errors.Is(err, session.ErrEmpty) {
			t.Error(err)
		}
		b.want(nil)
	})
}

// call is a tool that takes a while unless it is cancelled.
func call(name string, d time.Duration) tool.Tool { return waiting{name, d} }

type waiting struct {
	name string
	d    time.Duration
}

func (w waiting) Spec() tool.Spec {
	return tool.Spec{Name: w.name, Description: w.name, Schema: json.RawMessage(`{"type":"object"}`)}
}

func (w waiting) Run(ctx context.Context, _ tool.Call) (tool.Result, error) {
	select {
	case <-time.After(w.d):
		return tool.Result{Output: "done"}, nil
	case <-ctx.Done():
		return tool.Result{Aborted: true}, nil
	}
}

func TestInterruptIsAnsweredAfterTheEnd(t *testing.T) {
	bubble(t, "twenty at once", func(t *testing.T) {
		b := fresh(t, script.New(script.Turn(script.Call("look", `{}`))), deaf{waiting{"look", time.Minute}})
		b.submit("a", "")
		time.Sleep(time.Second)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				o, err := b.Interrupt(t.Context(), session.Request{By: "user"})
				if err != nil || o.Turn != "t000001" || o.Cause.Reason != event.Interrupted ||
					b.state().Running() != nil {
					t.Errorf("%+v, %v", o, err)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Minute) // until the tool has returned
	})
	bubble(t, "nothing runs", func(t *testing.T) {
		b := fresh(t, slow())
		if o, err := b.Interrupt(t.Context(), session.Request{By: "user"}); err != nil || o.Cause != nil {
			t.Error(o, err)
		}
	})
	bubble(t, "the input is still to come", func(t *testing.T) {
		b := fresh(t, slow("1"))
		var wg sync.WaitGroup
		wg.Go(func() {
			o, err := b.Interrupt(t.Context(), session.Request{By: "user", Input: "mine"})
			if err != nil || o.Cause == nil || o.Cause.Reason != event.Interrupted {
				t.Errorf("%+v, %v", o, err)
			}
		})
		synctest.Wait()
		if _, err := b.Submit(t.Context(), run.Input{ID: "mine", Text: "a"}); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		b.want([]string{"a: aborted interrupted"})
	})
	bubble(t, "who waits gives up", func(t *testing.T) {
		b := fresh(t, slow("1"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Interrupt(ctx, session.Request{Input: "never"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, err := b.Submit(t.Context(), run.Input{ID: "never", Text: "a"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		b.want([]string{"a: completed"})
	})
}

// deaf is a tool that cannot be cancelled.
type deaf struct{ waiting }

func (d deaf) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	return d.waiting.Run(context.WithoutCancel(ctx), c)
}

// If the host is killed at any event, the session opens, the open entities have ended, and the
// next turn completes.
func TestKilledAtEveryEvent(t *testing.T) {
	steps := func() *script.Model {
		return script.New(
			script.Turn(
				script.Reasoning("hm"),
				script.Text("let me"),
				script.Call("look", `{}`),
				script.Call("look", `{"b":1}`),
			),
			script.Text("done"),
		)
	}
	var whole int
	synctest.Test(t, func(t *testing.T) {
		b := fresh(t, steps(), call("look", time.Second))
		b.submit("a", "")
		b.submit("b", "")
		time.Sleep(time.Minute)
		whole = int(b.Log().Seq())
	})
	for n := 1; n < whole; n++ {
		bubble(t, fmt.Sprint("after event ", n), func(t *testing.T) {
			d := &disk{most: n}
			b := open(t, d, event.State{Session: "s"}, steps(), call("look", time.Second))
			if n > 1 {
				b.submit("a", "")
				b.submit("b", "")
			}
			time.Sleep(time.Minute)
			again, state := d.reopen(t)
			held := len(state.Waiting)
			second := open(t, again, state, script.New().Otherwise(script.Text("fine")), call("look", time.Second))
			if second.state().Running() != nil || len(second.state().Waiting) != held {
				t.Errorf(
					"after recovery: running %v, %d wait, %d before",
					second.state().Running(),
					len(second.state().Waiting),
					held,
				)
			}
			second.submit("c", "")
			time.Sleep(time.Minute)
			s := second.state()
			if last := s.Turns[len(s.Turns)-1]; last.Cause == nil || last.Cause.Outcome != event.Completed ||
				len(last.Inputs) != held+1 {
				t.Errorf("the turn after recovery: %v, %d inputs", last.Cause, len(last.Inputs))
			}
		})
	}
}

func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := fresh(t, script.New(script.Turn(script.Call("look", `{}`))), call("look", time.Hour))
		b.submit("a", "")
		b.submit("b", "")
		time.Sleep(time.Second)
		if err := b.Close(t.Context(), "", "signal:SIGTERM"); err != nil {
			t.Fatal(err)
		}
		b.want([]string{"a: aborted shutdown"}, "b held")
		if s := b.state(); s.Open {
			t.Error("the session is still open")
		}
		if _, err := b.Submit(t.Context(), run.Input{Text: "c"}); !errors.Is(err, session.ErrClosed) {
			t.Error(err)
		}
		if err := b.Close(t.Context(), "", "again"); err != nil {
			t.Error(err)
		}
	})
}
