package tui

import (
	"context"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
	"github.com/settle-agent/settle/internal/terminal/terminaltest"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// tty is a terminal in memory.
type tty struct {
	io.Reader
	mu       sync.Mutex // guards the fields below
	grid     *terminaltest.Grid
	restored int
	slow     chan struct{} // if set, a write waits for it
	delay    time.Duration // how long a write takes
}

// stall has writes wait, until the returned function is called.
func (t *tty) stall() (goOn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slow := make(chan struct{})
	t.slow = slow
	return func() { close(slow) }
}

func (t *tty) Write(data []byte) (int, error) {
	t.mu.Lock()
	slow := t.slow
	t.mu.Unlock()
	if slow != nil {
		<-slow
	}
	time.Sleep(t.delay)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.grid.Write(data)
}
func (t *tty) Size() (int, int) { return 60, 24 }
func (t *tty) Take() error      { return nil }

func (t *tty) Restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restored++
}

func (t *tty) rows() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.grid.Rows()
}

// inMemory are sessions of a host in memory.
type inMemory struct {
	host   *settle.Host
	config settle.SessionConfig
}

type talk struct{ *settle.Session }

func (talk) Model() string                                { return "script/m" }
func (talk) Window() int                                  { return 0 }
func (talk) Effort() string                               { return "" }
func (talk) Choose(context.Context, string, string) error { return nil }
func (talk) Mode() string                                 { return "ask" }
func (talk) SetMode(context.Context, string) error        { return nil }
func (m inMemory) List(context.Context) ([]Listed, error) { return nil, nil }
func (m inMemory) Resolve(context.Context, string) (string, error) {
	return "", nil
}

func (m inMemory) Fork(context.Context, string) (string, error) { return "", nil }
func (m inMemory) Rename(context.Context, string, string) error { return nil }

func (m inMemory) Open(ctx context.Context, id string) (Conversation, error) {
	s, err := m.host.Session(ctx, id, m.config)
	if err != nil {
		return nil, err
	}
	return talk{s}, nil
}

func (m inMemory) Close(ctx context.Context, c Conversation, reason event.Reason, by string) error {
	return c.(talk).CloseFor(ctx, reason, by)
}

// slowShell runs until it is cancelled.
type slowShell struct{ tool.Tool }

func (slowShell) Spec() tool.Spec {
	return tool.Spec{Name: "shell", Description: "runs", Schema: []byte(`{"type":"object"}`)}
}

func (slowShell) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	call.Progress("counting\n")
	<-ctx.Done()
	return tool.Result{}, context.Cause(ctx)
}

// person types at the terminal.
type person struct {
	t   *testing.T
	to  io.Writer
	tty *tty
}

// types presses keys, and waits until all of their effects have happened.
func (p person) types(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.to, keys); err != nil {
		p.t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

func (p person) bells() int {
	p.tty.mu.Lock()
	defer p.tty.mu.Unlock()
	return p.tty.grid.Bells
}

func (p person) sees(parts ...string) {
	p.t.Helper()
	all := strings.Join(p.tty.rows(), "\n")
	for _, part := range parts {
		if !strings.Contains(all, part) {
			p.t.Errorf("%q is not on the terminal:\n%s", part, all)
		}
	}
}

func (p person) misses(parts ...string) {
	p.t.Helper()
	all := strings.Join(p.tty.rows(), "\n")
	for _, part := range parts {
		if strings.Contains(all, part) {
			p.t.Errorf("%q is on the terminal:\n%s", part, all)
		}
	}
}

// left waits for the end.
func (p person) left(code chan int, want int) {
	p.t.Helper()
	select {
	case got := <-code:
		if got != want {
			p.t.Errorf("exit code %d, want %d", got, want)
		}
	case <-time.After(time.Minute):
		p.t.Fatalf("it does not end:\n%s", strings.Join(p.tty.rows(), "\n"))
	}
}

func newPerson(t *testing.T, o Options, steps ...script.Step) (person, chan int) {
	t.Helper()
	return newPersonIn(t, "/w", o, steps...)
}

// newPersonIn is newPerson in a directory.
func newPersonIn(t *testing.T, dir string, o Options, steps ...script.Step) (person, chan int) {
	t.Helper()
	return newPersonWith(t, dir, slowShell{}, o, steps...)
}

// newPersonWith is newPersonIn with another tool.
func newPersonWith(t *testing.T, dir string, shell tool.Tool, o Options, steps ...script.Step) (person, chan int) {
	t.Helper()
	return newPersonOf(t, o, settle.SessionConfig{
		Model: model.Config{
			Provider: script.New(steps...), ProviderName: "script", Name: "m",
		}, WorkDir: dir, Permission: settle.Ask, Attended: true, Tools: []tool.Tool{shell},
	})
}

// newPersonOf has a person work with sessions of the configuration.
func newPersonOf(t *testing.T, o Options, c settle.SessionConfig) (person, chan int) {
	t.Helper()
	host, err := settle.Open(t.Context(), settle.Config{})
	if err != nil {
		t.Fatal(err)
	}
	sessions := inMemory{host, c}
	if r, ok := o.Sessions.(*rich); ok {
		r.inMemory = sessions
	} else {
		o.Sessions = sessions
	}
	if o.Resume == nil {
		o.Resume = func(string, bool) string { return "settle resume ID" }
	}
	return startPerson(t, host, o)
}

// startPerson has a person work with the sessions of the options, which the host has.
func startPerson(t *testing.T, host *settle.Host, o Options) (person, chan int) {
	t.Helper()
	in, out := io.Pipe()
	p := person{t, out, &tty{Reader: in, grid: terminaltest.NewGrid(60, 24)}}
	o.Terminal, o.Palette, o.Place = p.tty, terminal.Palette{Color: true, Attributes: true}, "~/w"
	code := make(chan int, 1)
	go func() { // ends when the person quits
		defer func() { _ = in.Close() }() // ends the reading
		c, err := Run(context.Background(), o)
		if err != nil {
			t.Error(err)
		}
		if err := host.Close(context.Background()); err != nil {
			t.Error(err)
		}
		code <- c
	}()
	time.Sleep(time.Second)
	synctest.Wait()
	return p, code
}

// A whole session: a prompt, a question, a queued input, an interrupt, the end.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{},
			script.Turn(script.Text("I ", "**count**.\n\n- one\n- two"), script.Call("shell", `{"command":"count"}`)),
			script.Turn(script.Text("Then this.")),
		)
		p.sees(">", "asks before changes")
		p.types("Count!\r")
		p.sees("▌ Count!", "I count.", "• one", "? settle asks before this call", "Allow", "1 allow once")
		p.types("y")
		p.sees("● $ count", "│ counting", "working", "(Esc interrupts)")
		p.types("and then?\r")
		p.sees("↳ waits for the end: and then?")
		p.types("\x1b")
		p.sees(
			"■ $ count  interrupted", "effects: partial", "■ interrupted after",
			"↳ held; goes with the next input: and then?",
		)
		p.types("\x1b") // nothing runs: it does nothing
		p.types("\x1b[1;3A")
		p.sees("> and then?")
		p.types(" Go\r")
		p.sees("▌ and then? Go", "Then this.", "✓ ")
		p.types("\x04")
		p.left(code, 0)
		p.sees("Continue with:", "settle resume ID")
		if p.tty.restored == 0 || len(p.tty.grid.Mistakes) > 0 {
			t.Errorf("restored %d times; mistakes %q", p.tty.restored, p.tty.grid.Mistakes)
		}
	})
}

// The bell rings for who looks elsewhere: for a question, and at the end.
func TestNotificationWhenUnfocused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{},
			script.Turn(script.Call("shell", `{"command":"count"}`)), script.Turn(script.Text("x")),
			script.Turn(
				script.Call("shell", `{"command":"one"}`), script.Call("shell", `{"command":"two"}`),
			), script.Turn(script.Text("y")))
		rang := 0
		rings := func(times int, what string) {
			t.Helper()
			if now := p.bells(); now != rang+times {
				t.Errorf("it rang %d times for %s, want %d", now-rang, what, times)
			}
			rang = p.bells()
		}
		p.types("go\r")
		rings(0, "a question to who is there")
		p.types("n")
		rings(0, "an end that is seen")
		p.types("again\r\x1b[O")
		rings(1, "two questions that came together")
		p.types("\x1b[I")
		p.types("\x1b[O")
		rings(0, "the same question")
		p.types("n")
		p.types("n")
		rings(1, "the end of the turn")
		p.types("\x1b[I")
		rings(0, "who is back")
		p.types("\x04")
		p.left(code, 0)
	})
}

// A prompt of which nothing came goes back into the editor.
func TestInterruptBeforeOutputRestoresInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{Prompt: "try it"}, script.Turn(script.Headers(), script.Stall()))
		p.sees("▌ try it", "working")
		p.types("\x1b")
		rows := p.tty.rows()
		if i := slices.Index(rows, "▌ try it"); i < 0 || !slices.Contains(rows[i+1:], "> try it") {
			t.Errorf("the prompt is not in the editor:\n%s", strings.Join(rows, "\n"))
		}
		p.types("\x03") // clears the editor
		p.types("\x03\x03")
		p.left(code, 0)
	})
}

// C13: a repeated text is shown once: its part in the live region disappears, and a note states
// whether the committed part stays or is discarded.
func TestRetryShowsDiscardedTextOnce(t *testing.T) {
	long := "It begins.\n\n" + strings.Repeat("Some lines.\n\n", 30)
	for name, tt := range map[string]struct {
		first, second string
		times         int // how often the first line is there
		words         string
	}{
		"short": {
			"It begins.\n\nHalf of", "It begins.\n\nAnother.", 1, "attempt 1 failed: reset by peer; next in",
		},
		"long, the same":   {long + "Half", long + "All of it.", 1, "the next attempt repeats the text above, which stays"},
		"long, and others": {long + "Half", "It begins.\n\nOther ones.", 2, "said above is discarded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				broken := script.Turn(
					script.Text(tt.first), script.Delay(time.Minute),
					script.Fail(model.NewError(model.ErrConnection, "reset by peer")),
				)
				p, code := newPerson(t, Options{Prompt: "go"}, broken, script.Turn(script.Text(tt.second)))
				time.Sleep(2 * time.Minute)
				p.sees(tt.words, "✓ ")
				all := strings.Join(p.tty.rows(), "\n")
				if n := strings.Count(all, "It begins."); n != tt.times || strings.Contains(all, "Half") {
					t.Errorf("it begins %d times:\n%s", n, all)
				}
				p.types("\x04")
				p.left(code, 0)
			})
		})
	}
}

// A history that is refused without a reason takes one row for each attempt, and one for the end of the turn:
// what each attempt left out is said once.
func TestRefusedHistoryTakesOneRowForEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := model.NewError(model.ErrInvalid, "no")
		refused.Status = 400
		fails := script.Turn(script.Fail(refused))
		p, code := newPerson(t, Options{}, script.Text("One."), fails, fails, fails, fails)
		p.types("first\r")
		p.sees("One.")
		p.types("second\r")
		time.Sleep(time.Minute)
		p.sees("also without everything said before this turn", "✗ failed")
		all := strings.Join(strings.Fields(strings.Join(p.tty.rows(), " ")), " ")
		for _, words := range []string{"did not say why", "next in 0"} {
			if strings.Contains(all, words) {
				t.Errorf("it says %q:\n%s", words, all)
			}
		}
		if n := strings.Count(all, "did not help"); n != 1 {
			t.Errorf("the end is said %d times:\n%s", n, all)
		}
		p.types("\x04")
		p.left(code, 0)
	})
}

// C9: a key is obeyed while the terminal takes nothing.
func TestSlowTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{}, script.Turn(script.Text("x"), script.Call("shell", `{}`)))
		goOn := p.tty.stall()
		p.types("go\r")
		goOn()
		time.Sleep(time.Second)
		p.types("y")
		goOn = p.tty.stall()
		if _, err := io.WriteString(p.to, "\x1b"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		goOn()
		time.Sleep(time.Second)
		p.sees("■ interrupted after")
		p.types("\x04")
		p.left(code, 0)
	})
}

// A signal ends everything, with its exit code.
func TestSignalEndsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stops := make(chan stdio.Stop, 1)
		p, code := newPerson(t, Options{Prompt: "go", Stops: stops}, script.Turn(script.Stall()))
		stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM", Code: 143}
		p.left(code, 143)
		p.sees("■ settle was shut down", "Continue with:")
	})
}

func TestEditor(t *testing.T) {
	for keys, want := range map[string]string{
		"a b c|ctrl+w":                  "a b ",
		"ab|left|X":                     "aXb",
		"one|ctrl+j|two|home|>":         "one\n>two",
		"one|ctrl+j|two|ctrl+u|ctrl+y":  "one\ntwo",
		"word other|alt+b|alt+d":        "word ",
		"e\u0301x|left|backspace":       "x",
		"👍🏽a|left|backspace":            "a",
		"abc|ctrl+a|ctrl+k|ctrl+y|!":    "abc!",
		"a|ctrl+j|b|ctrl+a|backspace":   "ab",
		"x|delete|ctrl+a|delete":        "",
		"one two|ctrl+left|ctrl+left|>": ">one two",
		"one two|home|ctrl+right|!":     "one! two",
	} {
		var e editor
		for key := range strings.SplitSeq(keys, "|") {
			k := terminal.Key{Name: key}
			if !slices.Contains([]string{"left", "home", "delete", "backspace"}, key) && !strings.Contains(key, "+") {
				k.Text = key
			}
			e.key(keymap.Map{}.Action(keymap.Prompt, k.Name), k)
		}
		if got := e.text(); got != want {
			t.Errorf("%s: %q, want %q", keys, got, want)
		}
	}
}

// The cursor is in the cell where the next character goes.
func TestEditorCursor(t *testing.T) {
	var e editor
	e.set("12345678\n日本語x")
	for _, tt := range []struct {
		at, x, y int
		rows     []string
	}{
		{0, 2, 0, []string{"> 12345", "  678", "  日本", "  語x"}},
		{6, 3, 1, []string{"> 12345", "  678", "  日本", "  語x"}},
		{8, 5, 1, nil},
		{9, 2, 2, nil},
		{11, 2, 3, nil},
		{13, 5, 3, nil},
	} {
		e.at = tt.at
		rows, x, y := e.frame(8, 10)
		if x != tt.x || y != tt.y {
			t.Errorf("at %d: cursor %d, %d; want %d, %d", tt.at, x, y, tt.x, tt.y)
		}
		var got []string
		for _, row := range rows {
			got = append(got, row.Text())
		}
		if diff := cmp.Diff(tt.rows, got); tt.rows != nil && diff != "" {
			t.Error(diff)
		}
	}
}

// A long paste is one word on the screen, and sent whole.
func TestLongPasteIsFolded(t *testing.T) {
	var e editor
	text := strings.Repeat("line\n", 200_000)
	e.paste(text)
	rows, _, _ := e.frame(80, 5)
	if len(rows) != 1 || !strings.Contains(rows[0].Text(), "[pasted 200000 lines]") || e.text() != text {
		t.Errorf("%d rows: %s", len(rows), rows[0].Text())
	}
}

func TestCommandOf(t *testing.T) {
	for text, want := range map[string]string{
		"/help": "help", "/model chat/x": "model", "/etc/hosts": "", "a /help": "", " /help": "", "/": "",
		"/help\nme": "", "/Users": "",
	} {
		if name, _, _ := commandOf(text); name != want {
			t.Errorf("%q is the command %q, want %q", text, name, want)
		}
	}
}

// broken is a session of which reading the events panics, but for the opening.
type broken struct {
	talk
	looks *int
}

func (b broken) Events(ctx context.Context, cursor uint64) iter.Seq2[event.Event, error] {
	if *b.looks++; *b.looks > 1 {
		panic("broken on purpose")
	}
	return b.talk.Events(ctx, cursor)
}

type brokenSessions struct{ inMemory }

func (b brokenSessions) Open(ctx context.Context, id string) (Conversation, error) {
	c, err := b.inMemory.Open(ctx, id)
	return broken{c.(talk), new(int)}, err
}

// A panic gives the terminal back.
func TestPanicRestoresTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, err := settle.Open(t.Context(), settle.Config{})
		if err != nil {
			t.Fatal(err)
		}
		in, out := io.Pipe()
		screen := &tty{Reader: in, grid: terminaltest.NewGrid(60, 24)}
		config := settle.SessionConfig{
			Model: model.Config{Provider: script.New(), ProviderName: "script", Name: "m"}, WorkDir: "/w",
		}
		code, err := Run(
			context.Background(),
			Options{Terminal: screen, Sessions: brokenSessions{inMemory{host, config}}},
		)
		if code != stdio.CodeFailed || err == nil || !strings.Contains(err.Error(), "broken on purpose") {
			t.Errorf("code %d: %v", code, err)
		}
		if screen.restored == 0 {
			t.Error("the terminal was not given back")
		}
		_ = out.Close()
		if err := host.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
