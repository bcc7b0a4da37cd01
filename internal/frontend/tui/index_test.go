package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
	"github.com/settle-agent/settle/internal/terminal/terminaltest"
	"github.com/settle-agent/settle/internal/test/proof"
	"github.com/settle-agent/settle/modeltest"
	"github.com/settle-agent/settle/tool"
)

// press is a key at an event of a session.
type press struct {
	key string
	on  uint64 // the event; 0 for none
	// after is the delay after the event: without one, the key can arrive before the event is on
	// the screen.
	after time.Duration
	// slow is the time that the terminal takes for a frame.
	slow time.Duration
}

func (p press) String() string {
	return fmt.Sprintf("%q on event %d after %v, frames take %v", p.key, p.on, p.after, p.slow)
}

// presses are those that are tried at an event: all of them if many sessions are
// drawn, one of each key if as many as in CI, else one key at every second event.
func presses(on uint64) []press {
	const soon, slow = 50 * time.Millisecond, 200 * time.Millisecond
	escapes := []press{
		{key: "\x1b", on: on},
		{key: "\x1b", on: on, after: soon},
		{key: "\x1b", on: on, after: 120 * time.Millisecond, slow: slow},
		{key: "\x1b", on: on, after: 220 * time.Millisecond, slow: slow},
	}
	breaks := []press{{key: "\x03", on: on}, {key: "\x03", on: on, after: soon}}
	switch {
	case *sessions >= 1000:
		return append(escapes, breaks...)
	case *sessions >= 200 && !raced:
		return []press{escapes[on%4], breaks[on%2]}
	case on%2 == 0 && !raced:
		return []press{append(escapes, breaks...)[on/2%6]}
	case on%5 == 0 && raced:
		return []press{append(escapes, breaks...)[on%6]}
	}
	return nil
}

// Wherever a turn of the catalogue is interrupted by a key, the log keeps the
// contract, the terminal shows the log with the ending of each item, and no turn is
// ended that was not on the screen.
func TestKeyAtEveryEvent(t *testing.T) {
	raw, err := os.ReadFile("../../test/proof/testdata/catalogue.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var n struct {
		sync.Mutex
		sessions, interrupts int
	}
	t.Run("turns", func(t *testing.T) {
		for _, f := range txtar.Parse(raw).Files {
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				s, err := proof.Parse(string(f.Data))
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(s.Moves, func(m proof.Move) bool { return m.Do == proof.Held }) {
					return // it needs a second host, and this terminal has one
				}
				whole := pressed(t, s, press{})
				sessions, interrupts := 1, 0
				for on := uint64(2); on <= whole.events; on++ {
					for _, p := range presses(on) {
						sessions++
						interrupts += pressed(t, s, p).interrupts
					}
				}
				n.Lock()
				defer n.Unlock()
				n.sessions, n.interrupts = n.sessions+sessions, n.interrupts+interrupts
			})
		}
	})
	t.Logf("%d sessions, %d of them interrupted", n.sessions, n.interrupts)
}

// pressed plays a script at a terminal, presses a key, and checks the result.
func pressed(t *testing.T, s proof.Script, p press) (out played) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		out = play(t, s, p)
		for _, problem := range out.problems {
			t.Errorf("%v: %s", p, problem)
		}
	})
	return out
}

// played is the result of a script.
type played struct {
	events     uint64
	interrupts int
	problems   []string
}

func (p *played) broke(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// player plays a script at a terminal.
type player struct {
	script proof.Script
	press  press
	server *modeltest.Server
	keys   *io.PipeWriter
	tty    *tty
	acts   sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	session  *settle.Session
	log      []event.Event // all of it
	requests int
	pressed  bool
	running  string   // the turn that ran when the key was pressed
	screen   []string // content of the terminal then
}

func play(t *testing.T, s proof.Script, p press) (out played) {
	t.Helper()
	in, keys := io.Pipe()
	x := &player{script: s, press: p, server: modeltest.NewMemoryServer(nil, s.Scenario()), keys: keys}
	x.tty = &tty{Reader: in, grid: terminaltest.NewGrid(60, 24), delay: p.slow}
	host, err := settle.Open(t.Context(), settle.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { // ends when the person quits
		_, err := Run(context.Background(), Options{
			Terminal: x.tty, Palette: terminal.Palette{
				Color: true, Attributes: true,
			}, Sessions: playedSessions{inMemory{host, x.config()}, x},
		})
		_ = in.Close() // ends the reading
		ended <- err
	}()
	time.Sleep(time.Second)
	synctest.Wait() // until the session is open
	x.begin()
	x.settle()
	x.acts.Wait()
	x.types("\x15\x04") // whatever came back into the editor
	select {
	case err := <-ended:
		if err != nil {
			out.broke("the terminal ended with: %v", err)
		}
	case <-time.After(time.Hour):
		t.Fatalf("%v: it does not end:\n%s", p, strings.Join(x.tty.rows(), "\n"))
	}
	if err := errors.Join(host.Close(context.Background()), x.server.Close()); err != nil {
		out.broke("C2: %v", err)
	}
	time.Sleep(time.Minute) // calls that ignore their end
	synctest.Wait()         // until the last event was seen
	x.acts.Wait()
	x.check(&out)
	return out
}

// config returns the session configuration of the script.
func (x *player) config() settle.SessionConfig {
	s := x.script
	if s.Wire == "" {
		s.Wire = proof.Messages
	}
	name := s.Caches
	if name == "" {
		name = "claude-sonnet-4-5"
	}
	c := settle.SessionConfig{
		Model: s.Wire.Model(
			x.server.Client(), name, s.Window, s.Limits.Stall,
		), WorkDir: "/w", Permission: settle.Allow, Attended: true, Tools: []tool.Tool{planned{}},
		Limits: settle.Limits{
			Steps: s.Limits.Steps, Time: s.Limits.Time, Repeats: s.Limits.Repeats,
		}, InterruptGrace: s.Limits.Grace,
	}
	if s.Ask {
		c.Permission = settle.Ask
	}
	return c
}

// begin makes the moves of the script, each at its time.
func (x *player) begin() {
	for _, m := range x.script.Moves {
		x.acts.Go(func() {
			time.Sleep(m.After)
			x.move(m)
		})
	}
}

func (x *player) move(m proof.Move) {
	switch m.Do {
	case proof.Send:
		switch m.Mode {
		case event.Replace:
			// closed by then, at worst
			_, _ = x.session.Submit(
				context.Background(),
				m.Text,
				settle.WithMode(event.Replace),
				settle.From("another"),
			)
		case event.Steer:
			x.types(m.Text + "\t")
		default:
			x.types(m.Text + "\r")
		}
	case proof.Interrupt:
		x.types("\x1b")
	case proof.Account:
		x.server.SetAccount("another")
	case proof.Reject:
		x.server.Reject(m.Rejects)
	}
}

func (x *player) types(keys string) { _, _ = io.WriteString(x.keys, keys) }

// settle waits until nothing goes on any more.
func (x *player) settle() {
	for step := time.Second; ; step = min(2*step, time.Minute) {
		x.mu.Lock()
		asked := x.requests
		x.mu.Unlock()
		time.Sleep(step)
		synctest.Wait()
		s := x.session.State()
		free := !slices.ContainsFunc(s.Waiting, func(in event.Input) bool { return !in.Held })
		x.mu.Lock()
		done := s.Running() == nil && free && asked == x.requests && time.Since(start()) > x.last()
		x.mu.Unlock()
		if done {
			return
		}
	}
}

// start returns the time at which a bubble's clock begins.
func start() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// last returns the time of the last move.
func (x *player) last() (last time.Duration) {
	for _, m := range x.script.Moves {
		last = max(last, m.After)
	}
	return last + 2*time.Second
}

// saw presses the key at its event, and answers questions as the script says.
func (x *player) saw(e event.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.log = append(x.log, e)
	if x.press.on == e.Seq {
		x.acts.Go(func() {
			time.Sleep(x.press.after)
			screen := x.tty.rows()
			s := x.session.State()
			x.mu.Lock()
			x.pressed, x.screen = true, screen
			if t := s.Running(); t != nil {
				x.running = t.ID
			}
			x.mu.Unlock()
			x.types(x.press.key)
		})
	}
	d, ok := e.Data.(event.ApprovalRequested)
	if !ok || len(x.script.Answers) == 0 {
		return
	}
	a := x.script.Answers[min(x.requests, len(x.script.Answers)-1)]
	x.requests++
	if a.Verdict != "" {
		x.acts.Go(func() {
			time.Sleep(a.After)
			// it may have ended
			_ = x.session.Answer(
				context.Background(),
				settle.Answer{Approval: d.Approval, Verdict: a.Verdict, By: "another"},
			)
		})
	}
}

// check: the contract, the law, and which turns the key has ended.
func (x *player) check(out *played) {
	x.mu.Lock()
	defer x.mu.Unlock()
	out.events = uint64(len(x.log))
	if err := (contract.Checker{Secrets: nil}).Check(x.log); err != nil {
		out.broke("%v", err)
	}
	want, state := render(x.log, 60, out)
	if got := x.tty.rows(); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		out.broke("the terminal is not the log: %s", cmp.Diff(want, got))
	}
	if x.tty.restored == 0 || len(x.tty.grid.Mistakes) > 0 {
		out.broke("restored %d times; mistakes %q", x.tty.restored, x.tty.grid.Mistakes)
	}
	for _, t := range state.Turns {
		if t.Interrupt == nil || t.Cause == nil || t.Cause.By != user {
			continue
		}
		out.interrupts++
		scripted := slices.ContainsFunc(x.script.Moves, func(m proof.Move) bool { return m.Do == proof.Interrupt })
		if !scripted && !slices.Contains(x.screen, bandMark+t.Inputs[0].Text) && !x.sent(t.Inputs[0].Text) {
			out.broke(
				"turn %s (%q) was interrupted, and was not on the screen:\n%s", t.ID, t.Inputs[0].Text,
				strings.Join(x.screen, "\n"),
			)
		}
	}
	if t := state.Turn(x.running); x.pressed && x.press.slow == 0 && x.press.after > 0 && t != nil &&
		t.Interrupt == nil {
		out.broke("C9: turn %s ran when the key was pressed, and was not interrupted", t.ID)
	}
}

// sent reports whether the input was sent when no turn ran: who presses the key
// then means its turn, though it is not on the screen yet.
func (x *player) sent(text string) bool {
	var state event.State
	for _, e := range x.log {
		if d, ok := e.Data.(event.InputAccepted); ok && d.Text == text {
			return state.Running() == nil
		}
		state, _ = event.Fold(state, e) // check has looked at its errors
	}
	return false
}

// render returns the rows that the terminal must show for a log, and the log's state.
func render(log []event.Event, width int, problems *played) (rows []string, state event.State) {
	whole, out := transcript.New(event.State{}, transcript.Live), newPrintout(keymap.Map{})
	out.answered = func(string) bool { return false } // the script answers
	for _, e := range log {
		changes, err := whole.Take(e)
		if err != nil {
			problems.broke("%v", err)
		}
		for _, c := range changes {
			out.take(c)
		}
		out.askFirst(whole.State())
		for _, e := range out.finished() {
			for _, row := range out.rows(e, width) {
				rows = append(rows, strings.TrimRight(row.Text(), " "))
			}
		}
	}
	if len(out.pieces)+len(out.asks) > 0 {
		problems.broke("%d items and %d questions were not shown to their end", len(out.pieces), len(out.asks))
	}
	return rows, whole.State()
}

// playedSessions tell the player of the session and its events.
type playedSessions struct {
	inMemory
	x *player
}

func (p playedSessions) Open(ctx context.Context, id string) (Conversation, error) {
	c, err := p.inMemory.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	p.x.session = c.(talk).Session
	go func() { // ends with the session
		for e, err := range p.x.session.Events(context.Background(), 0) {
			if err != nil {
				return
			}
			p.x.saw(e)
		}
	}()
	return c, nil
}

// planned is a tool that executes its argument.
type planned struct{}

func (planned) Spec() tool.Spec {
	return tool.Spec{
		Name: "do", Description: "Does what the plan says.",
		Schema: json.RawMessage(
			`{"type":"object","properties":{"plan":{"type":"string"}},"required":["plan"],"additionalProperties":false}`,
		),
	}
}

func (planned) Run(ctx context.Context, c tool.Call) (result tool.Result, err error) {
	var args struct{ Plan string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return result, err
	}
	plan, err := proof.ParsePlan(args.Plan)
	if err != nil {
		return result, err
	}
	for _, s := range plan {
		switch s.Kind {
		case proof.Print, proof.Flood:
			text := s.Text + strings.Repeat("flood\n", s.Bytes/6)
			c.Progress(text)
			result.Output += text
		case proof.Fail:
			return tool.Result{}, errors.New(s.Text)
		case proof.Panic:
			panic("as planned")
		case proof.Deaf:
			time.Sleep(s.For)
		case proof.Take:
			select {
			case <-time.After(s.For):
			case <-ctx.Done():
				result.Aborted = true
				return result, nil
			}
		}
	}
	return result, nil
}
