//go:build compare

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/test/longlog"
	"github.com/settle-agent/settle/modeltest"
)

// plotsVariable is the directory for the plots of BenchmarkGrowth.
const plotsVariable = "SETTLE_PLOTS"

// BenchmarkGrowth measures how the cost of settle grows, prints the exponents, and draws a plot
// for each quantity that grows.
func BenchmarkGrowth(b *testing.B) {
	for name, grow := range map[string]func(*testing.B){
		"events": growEvents, "output": growOutput, "files": growFiles,
		"sessions": func(b *testing.B) {
			growHost(b, "sessions", "sessions in a host, each with a subscriber", []int{25, 50, 100, 200},
				func(n int) (int, int) { return n, 1 })
		},
		"subscribers": func(b *testing.B) {
			growHost(b, "subscribers", "subscribers of each of 50 sessions", []int{1, 2, 4},
				func(n int) (int, int) { return 50, n })
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				grow(b)
			}
		})
	}
}

// curve holds measurements at several sizes n; a measure without values is not drawn.
type curve struct {
	file, of          string
	n                 []int
	wall, cpu, memory []float64 // ms or, for a host, ms in each second; MB
	host              bool
}

func (c *curve) add(n int, s spent) {
	c.n = append(c.n, n)
	c.wall = append(c.wall, float64(s.wall.Microseconds())/1000)
	c.cpu = append(c.cpu, float64(s.cpu.Microseconds())/1000)
	c.memory = append(c.memory, float64(s.memory)/1e6)
}

// runs measures a program several times and returns the medians.
func runs(b *testing.B, p peer) spent {
	b.Helper()
	var all []spent
	for range 5 {
		one, err := p.run(1)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, one)
	}
	return median(all)
}

// settleRun is settle with one prompt, in a directory.
func settleRun(b *testing.B, s *modeltest.Server, home string, args ...string) peer {
	b.Helper()
	return peer{
		name: "settle", binary: build(b), home: home,
		args: append([]string{"run", "--permission", "allow", "-m", "chat/m", "--base-url", s.OpenAI()}, args...),
		env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SETTLE_DATA_DIR=" + filepath.Join(home, "data")},
	}
}

// growEvents measures a prompt to a session with so many events.
func growEvents(b *testing.B) {
	b.Helper()
	server := modeltest.NewServer(b, modeltest.Scenario{
		Rules: modeltest.Rules{Off: true}, Loop: true, Turns: []modeltest.Turn{modeltest.Say("word")},
	})
	c := curve{file: "events", of: "events of a session that is resumed"}
	for _, n := range []int{100, 1_000, 10_000, 50_000, 200_000} {
		home := b.TempDir()
		log, _, err := journal.Open(b.Context(), journal.Options{Dir: filepath.Join(home, "data"), Session: "long"})
		if err != nil {
			b.Fatal(err)
		}
		for batch := range longlog.Updates(n, longlog.Few) {
			if err := log.Update(func(event.State) []event.Event { return batch }); err != nil {
				b.Fatal(err)
			}
		}
		if err := log.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		p := settleRun(b, server, home, "--resume", "long", "hi")
		c.add(n, runs(b, p))
	}
	c.draw(b)
}

// growOutput measures a call with so many bytes of output.
func growOutput(b *testing.B) {
	b.Helper()
	c := curve{file: "output", of: "bytes of output of one call"}
	for _, n := range []int{1e3, 1e5, 1e6, 1e7, 1e8} {
		c.add(n, call(b, b.TempDir(), "shell", map[string]any{
			"command": fmt.Sprintf("yes 'a line of the output of a command' | head -c %d", n),
		}))
	}
	c.draw(b)
}

// growFiles measures a grep and a glob in a tree of so many files of 1 kB.
func growFiles(b *testing.B) {
	b.Helper()
	grep := curve{file: "grep", of: "files in the tree of a grep"}
	glob := curve{file: "glob", of: "files in the tree of a glob"}
	line := strings.Repeat("some words of a file\n", 48)
	dir, have := b.TempDir(), 0
	for _, n := range []int{100, 1_000, 10_000, 30_000} {
		for ; have < n; have++ {
			in := filepath.Join(dir, "tree", fmt.Sprint(have/100))
			if os.MkdirAll(in, 0o700) != nil ||
				os.WriteFile(filepath.Join(in, fmt.Sprintf("f%d.txt", have)), []byte(line), 0o600) != nil {
				b.Fatal("cannot write the tree")
			}
		}
		grep.add(n, call(b, dir, "grep", map[string]any{"pattern": "needle", "path": "tree"}))
		glob.add(n, call(b, dir, "glob", map[string]any{"pattern": "tree/**/*.md"}))
	}
	grep.draw(b)
	glob.draw(b)
}

// call measures a turn with one call.
func call(b *testing.B, home, tool string, arguments map[string]any) spent {
	b.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		b.Fatal(err)
	}
	server := modeltest.NewServer(b, modeltest.Scenario{
		Rules: modeltest.Rules{Off: true}, Loop: true,
		Turns: []modeltest.Turn{modeltest.Reply(modeltest.Call(tool, string(text))), modeltest.Say("word")},
	})
	return runs(b, settleRun(b, server, home, "hi"))
}

// growHost measures a host that streams 20 deltas a second to each session.
func growHost(b *testing.B, file, of string, sizes []int, shape func(int) (sessions, subscribers int)) {
	b.Helper()
	c := curve{file: file, of: of, host: true}
	for _, n := range sizes {
		l := startLoad(b, false)
		sessions, subscribers := shape(n)
		l.run(sessions, subscribers)
		c.add(n, spent{cpu: time.Duration(l.cores * float64(time.Second)), memory: int64(l.memory)})
		l.stop()
	}
	c.draw(b)
}

// exponent is the k of n^k between the two largest sizes, where fixed costs matter least.
func (c *curve) exponent(values []float64) float64 {
	last := len(c.n) - 1
	return math.Log(values[last]/values[last-1]) / math.Log(float64(c.n[last])/float64(c.n[last-1]))
}

// draw prints the curve and writes its plot.
func (c *curve) draw(b *testing.B) {
	b.Helper()
	panels := []panel{{"wall, ms", c.wall}, {"CPU, ms", c.cpu}, {"memory, MB", c.memory}}
	if c.host {
		panels = []panel{{"CPU, ms in each second", c.cpu}, {"memory, MB", c.memory}}
	}
	fmt.Printf("\n%s: %v\n", c.of, c.n)
	for _, p := range panels {
		fmt.Printf("  %s: %.1f, exponent %.2f\n", p.of, p.values, c.exponent(p.values))
	}
	dir := os.Getenv(plotsVariable)
	if dir == "" {
		return
	}
	path := filepath.Join(dir, "growth-"+c.file+".svg")
	if err := os.WriteFile(path, []byte(c.svg(panels)), 0o644); err != nil {
		b.Fatal(err)
	}
}

// panel is a part of a plot.
type panel struct {
	of     string
	values []float64
}

const panelWidth, panelHeight, margin = 220.0, 150.0, 44.0

// svg returns a plot with logarithmic axes.
func (c *curve) svg(panels []panel) string {
	var out strings.Builder
	width := (panelWidth+margin)*float64(len(panels)) + margin
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" `+
		`font-size="11">`+"\n", width, panelHeight+2*margin)
	fmt.Fprintf(&out, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", c.of)
	for i, p := range panels {
		left := margin + float64(i)*(panelWidth+margin)
		low, high := math.Log(slices.Min(p.values)/1.5), math.Log(slices.Max(p.values)*1.5)
		first, last := math.Log(float64(c.n[0])), math.Log(float64(c.n[len(c.n)-1]))
		x := func(n int) float64 { return left + panelWidth*(math.Log(float64(n))-first)/(last-first) }
		y := func(v float64) float64 { return margin + panelHeight*(high-math.Log(v))/(high-low) }
		fmt.Fprintf(&out, `<text x="%.0f" y="%.0f" font-weight="bold">%s; exponent %.2f</text>`+"\n",
			left, margin-12, p.of, c.exponent(p.values))
		fmt.Fprintf(&out, `<path d="M%.1f %.1fv%.1fh%.1f" fill="none" stroke="#888"/>`+"\n",
			left, margin, panelHeight, panelWidth)
		var line []string
		for k, v := range p.values {
			line = append(line, fmt.Sprintf("%.1f,%.1f", x(c.n[k]), y(v)))
			fmt.Fprintf(&out, `<circle cx="%.1f" cy="%.1f" r="3" fill="#06c"/>`, x(c.n[k]), y(v))
			fmt.Fprintf(&out, `<text x="%.1f" y="%.1f" text-anchor="middle">%.3g</text>`+"\n", x(c.n[k]), y(v)-7, v)
			fmt.Fprintf(&out, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#555">%s</text>`+"\n",
				x(c.n[k]), margin+panelHeight+14, short(c.n[k]))
		}
		fmt.Fprintf(&out, `<polyline points="%s" fill="none" stroke="#06c"/>`+"\n", strings.Join(line, " "))
	}
	fmt.Fprintf(&out, `<text x="%.0f" y="%.0f" text-anchor="middle">%s</text>`+"\n</svg>\n",
		width/2, panelHeight+2*margin-10, c.of)
	return out.String()
}

// short writes a number with a unit.
func short(n int) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%gM", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%gk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
