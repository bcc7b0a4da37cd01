package tui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/markdown"
	"github.com/settle-agent/settle/internal/test/longlog"
)

// The pager, which lays out only the visible part, shows the same rows as with a complete layout.
func TestPagerMoves(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		var parts sheet
		var all []string
		for n := range r.IntN(12) {
			var rows []terminal.Line
			for m := range r.IntN(9) {
				rows = append(rows, terminal.Plain(fmt.Sprint(n, ".", m), terminal.Style{}))
				all = append(all, rows[m].Text())
			}
			parts = append(parts, func(int) []terminal.Line { return rows })
		}
		u := newStage(nil, terminal.ReflowAll, 40, 4+r.IntN(9)).UI
		u.openPager("Help", parts...)
		u.overlay.pager.draw(&u.display.frames, u.display.screen, u.Palette)
		top := 0
		for range 60 {
			key := []string{"up", "down", "pgup", "pgdown", "g", "G"}[r.IntN(6)]
			height := u.overlay.pager.height
			last := max(len(all)-height, 0)
			switch key {
			case "up":
				top--
			case "down":
				top++
			case "pgup":
				top -= height - 1
			case "pgdown":
				top += height - 1
			case "g":
				top = 0
			case "G":
				top = last
			}
			top = min(max(top, 0), last)
			u.pagerKey(terminal.Key{Name: key})
			u.overlay.pager.draw(&u.display.frames, u.display.screen, u.Palette)
			if where := u.overlay.pager.where(); (where == 100) != (top == last) {
				t.Fatalf("seed %d, after %s: at %d %% with the first row %d of %d", seed, key, where, top, last)
			}
			var got []string
			for _, row := range u.overlay.pager.rows() {
				got = append(got, row.Text())
			}
			if diff := cmp.Diff(strings.Join(all[top:min(top+height, len(all))], "\n"), strings.Join(got, "\n")); diff != "" {
				t.Fatalf("seed %d, after %s, height %d: %s", seed, key, height, diff)
			}
		}
	}
}

// A search finds each row with the words, in both directions.
func TestPagerFinds(t *testing.T) {
	var parts sheet
	for n := range 50 {
		parts = append(parts, func(int) []terminal.Line {
			return []terminal.Line{
				terminal.Plain(fmt.Sprint("row ", n), terminal.Style{}),
				terminal.Plain(strings.Repeat("Found ", n%10/9), terminal.Style{}),
			}
		})
	}
	u := newStage(nil, terminal.ReflowAll, 40, 8).UI
	u.openPager("Help", parts...)
	var hits []int
	for _, key := range []string{"/", "f", "o", "u", "enter", "n", "n", "n", "n", "N", "N", "n", "n", "n", "N"} {
		k := terminal.Key{Name: key}
		if len(key) == 1 {
			k.Text = key
		}
		u.pagerKey(k)
		u.overlay.pager.draw(&u.display.frames, u.display.screen, u.Palette)
		if p := u.overlay.pager; !p.searching && p.hit != nil {
			hits = append(hits, p.hit.part)
		}
	}
	if diff := cmp.Diff([]int{9, 19, 29, 39, 49, 39, 29, 39, 49, 9, 49}, hits); diff != "" {
		t.Error(diff)
	}
	p := u.overlay.pager
	if p.words = "nothing"; p.missed {
		t.Error("a search with a result is said to have none")
	}
	if u.pagerKey(terminal.Key{Name: "n"}); !p.missed {
		t.Error("a search without a result says nothing")
	}
}

// BenchmarkPager opens the transcript of a session of 10,000 items at its end.
func BenchmarkPager(b *testing.B) {
	state := longState(b, 30_000)
	items := 0
	for _, t := range state.Turns {
		items += len(t.Items)
	}
	for b.Loop() {
		u := newStage(nil, terminal.ReflowAll, 120, 40).UI
		u.openPager("Transcript", transcriptSheet(markdown.NewRenderer(), state)...)
		u.overlay.pager.draw(&u.display.frames, u.display.screen, u.Palette)
	}
	b.ReportMetric(float64(items), "items")
}

// longState is a session of so many events.
func longState(tb testing.TB, events int) (state event.State) {
	tb.Helper()
	for e := range longlog.Events("s", events, longlog.Few) {
		var err error
		if state, err = event.Fold(state, e); err != nil {
			tb.Fatal(err)
		}
	}
	return state
}

// Of a session with 10,000 items in its last turn, the last ones are shown.
func TestLongSession(t *testing.T) {
	state := event.State{}
	for e := range longlog.Events("s", 60_000, longlog.Many) {
		var err error
		if state, err = event.Fold(state, e); err != nil {
			t.Fatal(err)
		}
		if turn := state.Running(); turn != nil && len(turn.Items) >= 5_000 {
			break
		}
	}
	s := newStage(nil, terminal.ReflowAll, 80, 24)
	s.commitRecent(state)
	if rows := len(s.display.rows); rows < recentEntries/2 || rows > 20*recentEntries {
		t.Errorf("%d rows", rows)
	}
	if first := s.display.rows[0].Text(); !strings.Contains(first, "Ctrl-T") {
		t.Errorf("nothing says that something is left out: %q", first)
	}
}
