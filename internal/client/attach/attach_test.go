//go:build unix

package attach_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/test/pdftest"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// hosted is a session that this process hosts, and joins as another one would.
type hosted struct {
	*settle.Session
	place clienttest.Place
	host  *settle.Host
	ran   chan struct{} // closed when the call ran
}

func newHosted(t *testing.T, steps ...script.Step) *hosted {
	t.Helper()
	h := &hosted{place: clienttest.NewPlace(t), ran: make(chan struct{})}
	var err error
	h.host, err = settle.Open(
		t.Context(),
		settle.Config{DataDir: h.place.Data, Releasable: true, Attach: attach.Serve, Frontend: "serve", Version: "1"},
	)
	if err != nil {
		t.Fatal(err)
	}
	act, err := tool.New(
		"act",
		"Acts.",
		func(context.Context, struct{}) (string, error) { close(h.ran); return "acted", nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	h.Session, err = h.host.Session(t.Context(), "s", settle.SessionConfig{
		Model: model.Config{
			Provider:     script.New(steps...),
			ProviderName: "script",
			Name:         "m",
			Traits:       model.Traits{Window: 1000},
		},
		WorkDir:  h.place.Dir,
		Tools:    []tool.Tool{act},
		Attended: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.close(t)
		h.place.CheckLogs(t)
		if left, err := os.ReadDir(filepath.Join(h.place.Data, "hosts")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
	return h
}

func (h *hosted) close(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), clienttest.Patience)
	defer cancel()
	if err := h.host.Close(ctx); err != nil {
		t.Error(err)
	}
}

func (h *hosted) join(t *testing.T) *attach.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clienttest.Patience)
	t.Cleanup(cancel)
	attached, err := attach.Open(ctx, h.place.Data, "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = attached.Close() }) // it may be closed
	return attached
}

// until reads an attached client's events after the cursor until one is the one.
func until(t *testing.T, attached *attach.Session, after uint64, is func(event.Event) bool) (all []event.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clienttest.Patience)
	defer cancel()
	for e, err := range attached.Events(ctx, after) {
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, e); is(e) {
			return all
		}
	}
	t.Fatalf("it did not come; %d events did", len(all))
	return nil
}

func kind(k event.Kind) func(event.Event) bool {
	return func(e event.Event) bool { return e.Kind() == k }
}

// An attached client receives the host's events, from the middle of a turn on, and the host runs
// its inputs.
func TestAttachedClientReadsAndSends(t *testing.T) {
	hold := make(chan struct{})
	h := newHosted(
		t,
		script.Turn(script.Text("One"), script.Wait(hold), script.Text(" two.")),
		script.Text("Three."),
		script.Text("Four."),
	)
	turn, err := h.Submit(t.Context(), "count")
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range turn.Events(t.Context()) {
		if err != nil || e.Kind() == event.KindItemDelta {
			break
		}
	}
	attached := h.join(t)
	if host := attached.Host().String(); !strings.HasSuffix(host, " (serve)") {
		t.Errorf("the host is %s", host)
	}
	if diff := cmp.Diff(attach.Settings{Model: "script/m", Window: 1000, Mode: "ask"}, attached.Settings()); diff != "" {
		t.Error(diff)
	}
	state := attached.State()
	if running := state.Running(); running == nil || running.Items[0].Content().Text != "One" {
		t.Errorf("the state has the turn %+v", running)
	}
	if err := attached.Submit(t.Context(), settle.NewInput("go on", settle.From("user"))); err != nil {
		t.Fatal(err)
	}
	if err := attached.Submit(t.Context(), settle.NewInput("not this", settle.WithID("no"))); err != nil {
		t.Fatal(err)
	}
	if dropped, err := attached.Drop("no", "user"); !dropped || err != nil {
		t.Errorf("dropped: %v, %v", dropped, err)
	}
	if dropped, err := attached.Drop("no", "user"); dropped || err != nil {
		t.Errorf("dropped again: %v, %v", dropped, err)
	}
	if err := attached.Submit(t.Context(), settle.NewInput(" ")); err == nil || err.Error() != "the input is empty" {
		t.Errorf("an empty input: %v", err)
	}
	if err := h.SetModel(t.Context(), model.Config{Provider: script.New(script.Text("Five.")), ProviderName: "script", Name: "n"}); err != nil {
		t.Fatal(err)
	}
	close(hold)
	ends := 0
	seen := until(t, attached, state.Seq, func(e event.Event) bool {
		if e.Terminal() {
			ends++
		}
		return ends == 2
	})
	for _, e := range seen {
		if state, err = event.Fold(state, e); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := state.Turns[0].Answer(), state.Turns[1].Answer(); a != " two." || b != "Five." {
		t.Errorf("the answers are %q and %q", a, b)
	}
	if m := attached.Settings().Model; m != "script/n" {
		t.Errorf("the model is %s", m)
	}
	var whole []event.Event
	for e, err := range h.Events(t.Context(), 0) {
		if whole = append(whole, e); err != nil || e.Seq == state.Seq {
			break
		}
	}
	all := until(t, attached, 0, func(e event.Event) bool { return e.Seq == state.Seq })
	if diff := cmp.Diff(whole, all); diff != "" {
		t.Errorf("the attached client does not see what the host has (-host +attached):\n%s", diff)
	}
}

// C16: the first answer counts, from either side, and the other side learns of it.
func TestTheFirstAnswerCounts(t *testing.T) {
	h := newHosted(t, script.Call("act", "{}"), script.Text("Done."))
	attached := h.join(t)
	if err := attached.Submit(t.Context(), settle.NewInput("act")); err != nil {
		t.Fatal(err)
	}
	asked := until(t, attached, 0, kind(event.KindApprovalRequested))
	approval := asked[len(asked)-1].Data.(event.ApprovalRequested).Approval
	if err := attached.Answer(t.Context(), settle.Answer{Approval: "a9", Verdict: event.Approved}); err == nil ||
		!strings.Contains(err.Error(), `there is no approval "a9"`) {
		t.Errorf("an approval that is not there: %v", err)
	}
	if err := attached.Answer(t.Context(), settle.Answer{Approval: approval, Verdict: event.Approved, By: "attached"}); err != nil {
		t.Fatal(err)
	}
	<-h.ran
	want := &settle.AnsweredError{Approval: approval, Verdict: event.Approved, By: "attached"}
	for name, answer := range map[string]func(context.Context, settle.Answer) error{"host": h.Answer, "attached": attached.Answer} {
		err := answer(t.Context(), settle.Answer{Approval: approval, Verdict: event.Denied, By: "late"})
		var late *settle.AnsweredError
		if !errors.As(err, &late) || *late != *want {
			t.Errorf("%s: %v", name, err)
		}
	}
	until(t, attached, 0, kind(event.KindTurnCompleted))
}

// C10: an interrupt is answered after the turn's end.
func TestAnInterruptIsAnsweredAfterTheEnd(t *testing.T) {
	h := newHosted(t, script.Turn(script.Text("One"), script.Stall()))
	attached := h.join(t)
	if o, err := attached.Interrupt(t.Context(), settle.Interruption{By: "user"}); o.Cause != nil || err != nil {
		t.Errorf("nothing runs: %+v, %v", o, err)
	}
	if err := attached.Submit(t.Context(), settle.NewInput("count", settle.WithID("n"))); err != nil {
		t.Fatal(err)
	}
	until(t, attached, 0, kind(event.KindItemDelta))
	o, err := attached.Interrupt(t.Context(), settle.Interruption{By: "attached", Input: "n"})
	if err != nil || o.Cause == nil || o.Cause.Reason != event.Interrupted || o.Cause.By != "attached" {
		t.Errorf("%+v, %v", o, err)
	}
	h.View(func(s event.State) {
		if s.Running() != nil {
			t.Error("it was answered before the turn's end")
		}
	})
}

// An attached client that does not read holds nobody up, and misses nothing (C17).
func TestAttachedClientThatDoesNotReadDelaysNobody(t *testing.T) {
	const deltas, words = 20_000, "some words, and some more of them\n"
	h := newHosted(t, script.Turn(script.Text(slices.Repeat([]string{words}, deltas)...), script.Stall()))
	attached := h.join(t)
	read := make(chan struct{})
	var once sync.Once
	var text strings.Builder
	done := make(chan error, 1)
	go func() { // ends with the turn
		for e, err := range attached.Events(t.Context(), 0) {
			once.Do(func() { <-read })
			if d, ok := e.Data.(event.ItemDelta); ok {
				text.WriteString(d.Text)
			}
			if err != nil || e.Terminal() {
				done <- err
				return
			}
		}
		done <- errors.New("the events ended before the turn did")
	}()
	turn, err := h.Submit(t.Context(), "talk", settle.WithID("n"))
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for e, err := range turn.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(event.ItemDelta); ok {
			if size += len(d.Text); size == deltas*len(words) {
				break
			}
		}
	}
	if _, err := h.Interrupt(t.Context(), settle.Interruption{By: "user"}); err != nil {
		t.Fatal(err)
	}
	close(read)
	if err := <-done; err != nil || text.Len() != size {
		t.Errorf("%d of %d bytes: %v", text.Len(), size, err)
	}
}

// An attached client receives the end of a session that the host closes, and learns that the host
// is gone.
func TestTheHostCloses(t *testing.T) {
	h := newHosted(t, script.Turn(script.Text("One"), script.Stall()))
	attached := h.join(t)
	if err := attached.Submit(t.Context(), settle.NewInput("count")); err != nil {
		t.Fatal(err)
	}
	until(t, attached, 0, kind(event.KindItemDelta))
	ended := make(chan event.Event, 1)
	go func() { // ends with the session
		var last event.Event
		for e, err := range attached.Events(t.Context(), 0) {
			if err != nil {
				t.Error(err)
			}
			last = e
		}
		ended <- last
	}()
	h.close(t)
	if last := <-ended; last.Kind() != event.KindSessionClosed {
		t.Errorf("the last event is %s", last.Kind())
	}
	var gone *attach.GoneError
	if err := attached.Submit(t.Context(), settle.NewInput("more")); !errors.As(err, &gone) {
		t.Errorf("it is not told: %v", err)
	}
	if _, err := attach.Open(t.Context(), h.place.Data, "s"); !errors.Is(err, attach.ErrNotHosted) {
		t.Errorf("it can be joined: %v", err)
	}
}

// A host that does not let an attached client in for a moment, such as one that is stopped, is
// not gone: its events come when it does.
func TestAHostThatIsSlowIsNotGone(t *testing.T) {
	h := newHosted(t, script.Text("One."))
	attached := h.join(t)
	sockets, err := os.ReadDir(filepath.Join(h.place.Data, "hosts"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("%v, %v", sockets, err)
	}
	socket, moved := filepath.Join(h.place.Data, "hosts", sockets[0].Name()), filepath.Join(h.place.Dir, "moved")
	if err := os.Rename(socket, moved); err != nil {
		t.Fatal(err)
	}
	ended := make(chan []event.Event, 1)
	go func() { // ends with the turn
		defer close(ended)
		ended <- until(t, attached, 0, event.Event.Terminal)
	}()
	turn, err := h.Submit(t.Context(), "count")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(moved, socket); err != nil {
		t.Fatal(err)
	}
	if all := <-ended; len(all) < 5 {
		t.Errorf("%d events", len(all))
	}
}

// Clients that connect and disconnect leave no goroutine or descriptor: the test's main counts
// them.
func TestComingAndGoing(t *testing.T) {
	h := newHosted(t, script.Turn(script.Text("One"), script.Stall()))
	if _, err := h.Submit(t.Context(), "count"); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		attached := h.join(t)
		until(t, attached, 0, kind(event.KindItemDelta))
		if err := attached.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A host without sessions listens nowhere; with the next one it does.
func TestControlSocketExistsWhileSessionIsOpen(t *testing.T) {
	h := newHosted(t)
	sockets := func() int {
		left, err := os.ReadDir(filepath.Join(h.place.Data, "hosts"))
		if err != nil {
			t.Fatal(err)
		}
		return len(left)
	}
	if n := sockets(); n != 1 {
		t.Errorf("with a session: %d", n)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := sockets(); n != 0 {
		t.Errorf("without one: %d", n)
	}
	var err error
	if h.Session, err = h.host.Session(t.Context(), "s", settle.SessionConfig{Model: model.Config{Provider: script.New(), Name: "m"}}); err != nil {
		t.Fatal(err)
	}
	if err := h.join(t).Close(); err != nil {
		t.Error(err)
	}
}

// A client reads PDFs before it calls the host: the host's answer does not wait for them, and one
// that cannot be read is not sent.
func TestAttachedClientReadsDocuments(t *testing.T) {
	h := newHosted(t, script.Text("Read."))
	attached := h.join(t)
	wrong := settle.NewInput("sum up", settle.WithDocuments(event.Document{Data: []byte("hello"), Name: "a.pdf"}))
	if err := attached.Submit(t.Context(), wrong); !errors.As(err, new(*session.DocumentError)) {
		t.Errorf("a PDF that is none: %T %v", err, err)
	}
	right := settle.NewInput("sum up", settle.WithDocuments(event.Document{Data: pdftest.New("Hello."), Name: "a.pdf"}))
	if err := attached.Submit(t.Context(), right); err != nil {
		t.Fatal(err)
	}
	all := until(t, attached, 0, kind(event.KindTurnCompleted))
	n := slices.IndexFunc(all, kind(event.KindInputAccepted))
	in := all[n].Data.(event.InputAccepted)
	if len(in.Documents) != 1 || !strings.Contains(in.Documents[0].Text, "Hello.") {
		t.Errorf("accepted %+v", in)
	}
}
