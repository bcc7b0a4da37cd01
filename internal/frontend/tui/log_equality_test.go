package tui

import (
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
	"github.com/settle-agent/settle/internal/terminal/terminaltest"
)

var (
	sessions = flag.Uint64("sessions", 150, "how many sessions are drawn")
	first    = flag.Uint64("seed", 0, "the seed of the first one; each further one has the next")
)

// drawn are the seeds of the sessions.
func drawn() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for seed := *first; seed < *first+*sessions && yield(seed); seed++ {
		}
	}
}

// mute is a session that takes everything and does nothing.
type mute struct{ settle.Session }

func (*mute) ID() string         { return "s" }
func (*mute) State() event.State { return event.State{} }
func (*mute) Events(context.Context, uint64) iter.Seq2[event.Event, error] {
	return func(func(event.Event, error) bool) {}
}

func (*mute) Submit(context.Context, string, ...settle.InputOption) (*settle.Turn, error) {
	return nil, nil
}

func (*mute) Interrupt(context.Context, settle.Interruption) (settle.Outcome, error) {
	return settle.Outcome{}, nil
}
func (*mute) Answer(context.Context, settle.Answer) error { return nil }
func (*mute) Drop(string, string) (bool, error)           { return false, nil }
func (*mute) KillJob(context.Context, string) error       { return nil }
func (*mute) Compact(context.Context, string) (settle.Compacted, error) {
	return settle.Compacted{}, nil
}
func (*mute) Model() string                                { return "chat/m" }
func (*mute) Window() int                                  { return 1000 }
func (*mute) Effort() string                               { return "" }
func (*mute) Choose(context.Context, string, string) error { return nil }
func (*mute) Mode() string                                 { return "ask" }
func (*mute) SetMode(context.Context, string) error        { return nil }

// screen is a terminal that a frontend draws on.
type screen interface {
	io.Writer
	Resize(width, height int)
	// Rows are the scrollback and the screen; rows that the terminal has wrapped
	// are one.
	Rows() []string
}

// stage is a frontend without its goroutines, on a terminal in memory.
type stage struct {
	*UI
	on     screen
	widths []int // of the terminal when each entry was committed
	// cuts are the numbers of committed entries at the ends of attempts: later text of these
	// attempts was discarded and is not shown.
	cuts []int
}

func newStage(on screen, reflow terminal.Reflow, width, height int) *stage {
	u := &UI{ctx: context.Background(), work: make(chan func(), 1000)}
	u.input.history, u.questions.answeredIDs = openHistory(""), map[string]bool{}
	u.display.screen = terminal.NewScreen(
		&u.display.frames, terminal.Palette{Color: true, Attributes: true, Links: true},
		reflow, width, height,
	)
	u.display.writer = newWriter(nil, nil)
	u.view.conversation, u.view.log, u.view.printout, u.view.feed = &mute{}, transcript.New(
		event.State{}, transcript.Live,
	), newPrintout(keymap.Map{}), newFeed()
	u.Terminal = sized{u.display.screen}
	return &stage{UI: u, on: on}
}

// sized is a terminal that has a size and nothing else.
type sized struct{ screen *terminal.Screen }

func (s sized) Size() (int, int)        { return s.screen.Size() }
func (sized) Read([]byte) (int, error)  { return 0, io.EOF }
func (sized) Write([]byte) (int, error) { return 0, io.EOF }
func (sized) Restore()                  {}
func (sized) Take() error               { return nil }

// take has events come.
func (s *stage) take(events []event.Event) {
	for n, e := range events {
		if _, ended := e.Data.(event.AttemptEnded); ended {
			s.cuts = append(s.cuts, s.view.printout.shown)
		}
		s.view.feed.events = events[n : n+1]
		s.follow()
		s.record()
	}
}

// record notes the width at which entries were committed.
func (s *stage) record() {
	width, _ := s.display.screen.Size()
	for len(s.widths) < s.view.printout.shown {
		s.widths = append(s.widths, width)
	}
}

// show draws a frame, and writes it: later, if the terminal is slow.
func (s *stage) show() {
	s.draw(time.Now())
	s.record()
	s.written()
}

func (s *stage) written() {
	select {
	case frame := <-s.display.writer.frames:
		_, _ = s.on.Write(frame)
		s.display.writer.idle <- struct{}{}
		s.display.writer.written()
	default:
	}
}

// TestTerminalEqualsLog: the rows above the live region are the rendering of the log, row for row,
// at the widths at which they were committed, for any pieces of text, any resizes of the terminal,
// and any keys during the turn.
func TestTerminalEqualsLog(t *testing.T) {
	rows := 0
	for seed := range drawn() {
		width, height := drawSize(rand.New(rand.NewPCG(seed, 3)))
		grid := terminaltest.NewGrid(width, height)
		rows += playOn(t, grid, terminal.ReflowAll, seed, width, height)
		if len(grid.Mistakes) > 0 {
			t.Fatalf("seed %d: %q", seed, grid.Mistakes)
		}
	}
	t.Logf("%d sessions, %d rows", *sessions, rows)
}

// It holds on a narrow terminal as well, which is not resized here: of a live region
// that has no room any more, rows stay behind (docs/terminal.md).
func TestNarrowTerminalEqualsLog(t *testing.T) {
	for seed := range drawn() {
		width, height := []int{30, 20, 12}[seed%3], []int{20, 10, 5}[seed/3%3]
		grid := terminaltest.NewGrid(width, height)
		playOn(t, grid, terminal.ReflowAll, seed, width, height)
		if len(grid.Mistakes) > 0 {
			t.Fatalf("seed %d: %q", seed, grid.Mistakes)
		}
	}
}

func drawSize(r *rand.Rand) (width, height int) { return 50 + r.IntN(70), 24 + r.IntN(20) }

// shellRows are on the terminal before settle starts. In an empty one, tmux puts
// the live region into its history when that is wrapped, out of reach.
const shellRows = 12

// playOn plays a drawn session on a terminal and returns how many rows were
// committed.
func playOn(t *testing.T, on screen, reflow terminal.Reflow, seed uint64, width, height int) int {
	t.Helper()
	log := drawLog(t, seed)
	r := rand.New(rand.NewPCG(seed, 2))
	s := newStage(on, reflow, width, height)
	for range shellRows { // of before
		_, _ = on.Write([]byte("$ shell\r\n"))
	}
	for rest := log; len(rest) > 0; {
		n := min(1+r.IntN(12), len(rest))
		s.take(rest[:n])
		rest = rest[n:]
		if r.IntN(3) > 0 {
			s.show()
		}
		if r.IntN(5) == 0 {
			s.disturb(r, reflow)
		}
		if r.IntN(15) == 0 && width >= 50 {
			s.show()
			width, height = drawSize(r)
			on.Resize(width, height)
			s.display.screen.Resize(width, height)
		}
	}
	s.show()
	return s.check(t, fmt.Sprintf("seed %d", seed), log)
}

// disturb has a person type something. Where the terminal loses count of rows
// below the cursor (docs/terminal.md), the cursor stays in the last one.
func (s *stage) disturb(r *rand.Rand, reflow terminal.Reflow) {
	keys := []terminal.Event{
		terminal.Key{Name: "a", Text: "a"},
		terminal.Key{Name: "日", Text: "日"},
		terminal.Key{Name: "shift+enter"},
		terminal.Key{Name: "backspace"},
		terminal.Key{Name: "up"},
		terminal.Key{Name: "left"},
		terminal.Key{Name: "enter"},
		terminal.Key{Name: "esc"},
		terminal.Key{Name: "ctrl+l"},
		terminal.Key{Name: "ctrl+r"},
		terminal.Paste{Text: "pasted\ntext"},
		terminal.Paste{Text: strings.Repeat("long\n", 50)},
		terminal.Key{Name: "y", Text: "y"},
	}
	for range 1 + r.IntN(5) {
		key := keys[r.IntN(len(keys))]
		if k, ok := key.(terminal.Key); ok && reflow == terminal.ReflowOthers && (k.Name == "up" || k.Name == "left") {
			continue
		}
		s.UI.take(key)
	}
}

// check compares the terminal with the log, without its deltas: the screen does not depend on the
// pieces of the text.
func (s *stage) check(t *testing.T, name string, log []event.Event) int {
	t.Helper()
	want := slices.Repeat([]string{"$ shell"}, shellRows)
	whole, out, n, cuts := transcript.New(event.State{}, transcript.Live), newPrintout(keymap.Map{}), 0, s.cuts
	seq := uint64(0)
	shows := func(e entry) {
		if n >= len(s.widths) {
			t.Fatalf("%s: the terminal has %d entries, the log more", name, n)
		}
		for _, row := range out.rows(e, s.widths[n]) {
			want = append(want, strings.TrimRight(row.Text(), " "))
		}
		n++
	}
	spill := func(to int) { // rows that no longer fit on the screen
		for n < to {
			e, ok := out.spill()
			if !ok {
				t.Fatalf("%s: the terminal has more of what was discarded than there is", name)
			}
			shows(e)
		}
	}
	for _, e := range log {
		if d, ok := e.Data.(event.ItemDelta); ok && d.Stream != event.Output {
			continue
		}
		if _, ended := e.Data.(event.AttemptEnded); ended {
			spill(cuts[0])
			cuts = cuts[1:]
		}
		seq++
		e.Seq = seq
		changes, err := whole.Take(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			out.take(c)
		}
		out.askFirst(whole.State())
		for _, e := range out.finished() {
			shows(e)
		}
	}
	spill(len(s.widths))
	if n != len(s.widths) {
		t.Fatalf("%s: the terminal has %d entries, the log %d", name, len(s.widths), n)
	}
	got := s.on.Rows()
	live := []string{}
	for _, row := range s.frame(s.display.drawnAt).Rows {
		live = append(live, strings.TrimRight(row.Text(), " "))
	}
	for i := range got {
		got[i] = strings.TrimRight(got[i], " ")
	}
	for len(got) > len(want)+len(live) && got[len(got)-1] == "" { // a longer live region was there
		got = got[:len(got)-1]
	}
	if diff := cmp.Diff(append(want, live...), got); diff != "" {
		t.Fatalf("%s: %s", name, diff)
	}
	return len(want)
}
