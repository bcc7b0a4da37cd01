package proof

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"
)

// turns are the catalogue's, by name.
func turns(t *testing.T) map[string]Script {
	t.Helper()
	raw, err := os.ReadFile("testdata/catalogue.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Script{}
	for _, f := range txtar.Parse(raw).Files {
		s, err := Parse(string(f.Data))
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		out[f.Name] = s
	}
	return out
}

// TestCatalogue: with nothing in its way, each turn ends as it should, on each
// wire: retries are made, held input is run, limits bite.
func TestCatalogue(t *testing.T) {
	for name, s := range turns(t) {
		for _, wire := range Wires() {
			t.Run(name+"/"+string(wire), func(t *testing.T) {
				s.Wire = wire
				if len(s.Ends) == 0 {
					t.Error("the catalogue does not say how it ends")
				}
				if problems := play(t, s).Problems; len(problems) > 0 {
					t.Error(strings.Join(problems, "\n"))
				}
			})
		}
	}
}

// TestEveryIndex: wherever a turn of the catalogue is interrupted, wherever its
// host dies, and wherever the host dies after an interrupt anywhere, the
// contract holds, the session opens, and the next prompt is answered.
func TestEveryIndex(t *testing.T) {
	list := turns(t)
	if len(list) < 30 {
		t.Errorf("the catalogue has %d turns", len(list))
	}
	var interrupts, crashes, both, recoveries atomic.Int64
	t.Run("turns", func(t *testing.T) {
		for n, name := range slices.Sorted(maps.Keys(list)) {
			s, wires := list[name], Wires()
			switch { // its own code is the same on all
			case raced:
				wires = wires[n%len(wires):][:1]
			case !everyWire:
				wires = []Wire{wires[n%len(wires)], wires[(n+1)%len(wires)]}
			}
			for _, wire := range wires {
				t.Run(name+"/"+string(wire), func(t *testing.T) {
					t.Parallel()
					x := index{t: t, script: s}
					x.script.Wire = wire
					x.run()
					interrupts.Add(x.interrupts)
					crashes.Add(x.crashes)
					both.Add(x.both)
					recoveries.Add(x.recoveries)
				})
			}
		}
	})
	t.Logf("%d turns on %d wires: %d interrupts, %d crashes, %d crashes after interrupts, %d crashes in recoveries",
		len(list), len(Wires()), interrupts.Load(), crashes.Load(), both.Load(), recoveries.Load())
}

// index tries one turn at each of its events.
type index struct {
	t                                     *testing.T
	script                                Script
	interrupts, crashes, both, recoveries int64
}

func (x *index) run() {
	whole := x.bubble("nothing happens", x.script, func(w *world) { x.crashes += x.crashAtEach(w, 1) })
	for n := 3; n < whole; n++ {
		s := x.script
		s.Ends = nil
		s.Moves = append(slices.Clone(s.Moves), Move{On: n, Do: Interrupt})
		x.bubble(fmt.Sprintf("on %d interrupt", n), s, func(w *world) {
			x.interrupts++
			if !raced { // it has nothing more to find there
				x.both += x.crashAtEach(w, n)
			}
		})
	}
}

// bubble plays the script in a bubble of its own, has try do more with what is
// left, and returns how many events the script had.
func (x *index) bubble(what string, s Script, try func(*world)) (events int) {
	x.t.Helper()
	defer func() {
		if r := recover(); r != nil {
			x.t.Errorf("%s: left running, or panicked: %v\n%s", what, r, s)
		}
	}()
	var problems []string
	synctest.Test(x.t, func(*testing.T) {
		w := newWorld(s)
		w.play()
		w.verdict()
		events = w.disk.len()
		try(w)
		w.probes()
		w.end()
		if err := w.server.Close(); err != nil {
			w.broke("C12", "%v", err)
		}
		problems = w.problems
	})
	if len(problems) > 0 {
		x.t.Errorf("%s:\n%s\n%s", what, strings.Join(problems[:min(len(problems), 5)], "\n"), s)
	}
	return events
}

// crashAtEach opens what a crash would have left, after each event from the
// one on, and prompts it.
func (x *index) crashAtEach(w *world, from int) (n int64) {
	for at := from; at <= w.disk.len(); at++ {
		d := w.disk.first(at)
		w.probe(d, w.script.Wire)
		w.holds(d)
		n++
		if from == 1 {
			x.recoveries += crashInRecovery(w, at)
		}
	}
	return n
}

// crashInRecovery crashes once more, after each event that the recovery from
// the first crash wrote.
func crashInRecovery(w *world, at int) (n int64) {
	d := w.disk.first(at)
	if !w.opens(d) {
		return 0
	}
	for again := at + 1; again < d.len(); again++ {
		c := d.first(again)
		if w.opens(c) {
			w.holds(c)
		}
		n++
	}
	return n
}
