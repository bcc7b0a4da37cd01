package terminal_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/terminaltest"
)

// words returns parts of rows: wide, combining and foreign characters, and sequences that a
// terminal must not obey.
func words() []string {
	return []string{
		"a", "word", "another", "日本語", "e\u0301", "naïve", "👍", "x\x1b[2Jy", "\u202etxet", "a\tb",
		"supercalifragilistic", " ", "-",
	}
}

func drawText(r *rand.Rand, most int) string {
	var b strings.Builder
	for range r.IntN(most + 1) {
		b.WriteString(words()[r.IntN(len(words()))] + " ")
	}
	return b.String()
}

// Committed rows are in the terminal, row for row, regardless of later drawings below them and of
// resizes.
func TestCommittedRowsStay(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		width, height := 30+r.IntN(90), 16+r.IntN(30)
		grid := terminaltest.NewGrid(width, height)
		screen := terminal.NewScreen(
			grid, terminal.Palette{Color: true, Attributes: true}, terminal.ReflowAll, width, height,
		)
		var want []string
		var live terminal.Frame
		for range 40 {
			for range 1 + r.IntN(3) {
				if r.IntN(4) == 0 {
					width, height = 30+r.IntN(90), 16+r.IntN(30)
					grid.Resize(width, height)
					screen.Resize(width, height)
				}
			}
			var rows []terminal.Line
			for range r.IntN(4) {
				text := drawText(r, 30)
				rows = append(
					rows,
					terminal.Wrap(
						terminal.Plain(text, terminal.Style{Color: terminal.Red}),
						width,
						terminal.Indent{},
					)...,
				)
			}
			for _, row := range rows {
				want = append(want, strings.TrimRight(row.Text(), " "))
			}
			live = terminal.Frame{}
			for range 1 + r.IntN(4) {
				live.Rows = append(live.Rows, terminal.Clip(terminal.Plain(drawText(r, 6), terminal.Style{}), width))
			}
			live.Y = r.IntN(len(live.Rows))
			live.X = r.IntN(live.Rows[live.Y].Width() + 1)
			if err := screen.Draw(rows, live); err != nil {
				t.Fatal(err)
			}
			check(t, fmt.Sprintf("seed %d", seed), grid, want, live, width)
		}
	}
}

func check(t *testing.T, name string, grid *terminaltest.Grid, want []string, live terminal.Frame, width int) {
	t.Helper()
	if len(grid.Mistakes) > 0 {
		t.Fatalf("%s: %q", name, grid.Mistakes)
	}
	got := grid.Rows()
	all := append([]string(nil), want...)
	for _, row := range live.Rows {
		all = append(all, strings.TrimRight(row.Text(), " "))
	}
	for len(got) < len(all) {
		got = append(got, "")
	}
	for len(all) < len(got) {
		all = append(all, "")
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Fatalf("%s (width %d): %s", name, width, diff)
	}
}

// Only changes are drawn.
func TestFramesAreSmall(t *testing.T) {
	var out strings.Builder
	screen := terminal.NewScreen(&out, terminal.Palette{}, terminal.ReflowAll, 80, 24)
	frame := terminal.Frame{
		Rows: []terminal.Line{
			terminal.Plain("one", terminal.Style{}), terminal.Plain("> typed", terminal.Style{}),
			terminal.Plain("status", terminal.Style{}),
		},
		X: 7, Y: 1,
	}
	if err := screen.Draw(nil, frame); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := screen.Draw(nil, frame); err != nil || out.Len() > 0 {
		t.Errorf("%v; an unchanged frame writes %q", err, out.String())
	}
	frame.Rows[1], frame.X = terminal.Plain("> typed!", terminal.Style{}), 8
	if err := screen.Draw(nil, frame); err != nil || out.Len() > 80 {
		t.Errorf("%v; a key writes %d bytes: %q", err, out.Len(), out.String())
	}
}

// A live region is shorter than the screen, and keeps its last rows.
func TestLiveRegionIsShorterThanTheScreen(t *testing.T) {
	grid := terminaltest.NewGrid(40, 6)
	screen := terminal.NewScreen(grid, terminal.Palette{}, terminal.ReflowAll, 40, 6)
	var frame terminal.Frame
	for n := range 20 {
		frame.Rows = append(frame.Rows, terminal.Plain(fmt.Sprint("row ", n), terminal.Style{}))
	}
	frame.Y = 19
	for range 3 {
		if err := screen.Draw([]terminal.Line{terminal.Plain("kept", terminal.Style{})}, frame); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"kept", "kept", "kept", "row 15", "row 16", "row 17", "row 18", "row 19"}
	if diff := cmp.Diff(want, grid.Rows()); diff != "" {
		t.Error(diff)
	}
}
