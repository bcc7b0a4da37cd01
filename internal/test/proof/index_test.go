package proof

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

var every = flag.Int("every", 7, "interrupt, crash and panic at one of so many events of the catalogue; 1 is at each")

// turns are the catalogue's, by name.
func turns(t *testing.T) map[string]Script {
	t.Helper()
	all, err := Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	return all
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
// contract holds, the session opens, and the next prompt is answered. CI tries each
// event; by default, a test tries one of three, not the same three in each turn.
func TestEveryIndex(t *testing.T) {
	list := turns(t)
	if len(list) < 30 {
		t.Errorf("the catalogue has %d turns", len(list))
	}
	var interrupts, crashes, both, recoveries, held atomic.Int64
	t.Run("turns", func(t *testing.T) {
		for n, name := range slices.Sorted(maps.Keys(list)) {
			s, wires := list[name], Wires()
			first := wires[n%len(wires)]
			if raced || !everyWire { // its own code is the same on all
				wires = []Wire{first}
			}
			for _, wire := range wires {
				t.Run(name+"/"+string(wire), func(t *testing.T) {
					t.Parallel()
					x := index{t: t, script: s, skip: n % *every, afterInterrupts: 3}
					if everyWire && wire == first {
						x.afterInterrupts = 1
					}
					x.script.Wire = wire
					x.run()
					interrupts.Add(int64(x.interrupts))
					crashes.Add(int64(x.crashes))
					both.Add(int64(x.both))
					recoveries.Add(int64(x.recoveries))
					held.Add(int64(x.held))
				})
			}
		}
	})
	t.Logf("%d turns on %d wires: %d interrupts, %d crashes, %d crashes after interrupts, %d crashes in recoveries",
		len(list), len(Wires()), interrupts.Load(), crashes.Load(), both.Load(), recoveries.Load())
	t.Logf("%d held calls", held.Load())
	if held.Load() == 0 {
		t.Error("no crash left a call held")
	}
}

// index tries one turn at its events.
type index struct {
	t                                           *testing.T
	script                                      Script
	skip                                        int // events before the first that is tried
	afterInterrupts                             int // of so many events after an interrupt, one has a crash
	interrupts, crashes, both, recoveries, held int
}

func (x *index) run() {
	whole := x.bubble("nothing happens", x.script, func(w *world) {
		c := w.crashes(1+x.skip, *every, true)
		x.crashes, x.recoveries, x.held = x.crashes+c.Turns, x.recoveries+c.Recoveries, x.held+c.Held
	})
	for n := 3 + x.skip; n < whole; n += *every {
		s := x.script
		s.Ends = nil
		s.Moves = append(slices.Clone(s.Moves), Move{On: n, Do: Interrupt})
		x.bubble(fmt.Sprintf("on %d interrupt", n), s, func(w *world) {
			x.interrupts++
			if !raced { // it has nothing more to find there
				c := w.crashes(n, x.afterInterrupts, false)
				x.both, x.held = x.both+c.Turns, x.held+c.Held
			}
		})
	}
}

// bubble plays the script in a bubble of its own, calls try with the final world, and returns the
// number of the script's events.
func (x *index) bubble(what string, s Script, try func(*world)) (events int) {
	x.t.Helper()
	defer func() {
		if r := recover(); r != nil {
			x.t.Errorf("%s: left running, or panicked: %v\n%s", what, r, s)
		}
	}()
	var problems []string
	synctest.Test(x.t, func(*testing.T) {
		w := newWorld(s, nil)
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
