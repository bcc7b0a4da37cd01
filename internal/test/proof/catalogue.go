package proof

import (
	_ "embed"
	"fmt"

	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed testdata/catalogue.txtar
var catalogue []byte

// Catalogue returns the turns that are interrupted and crashed at every event, by name.
func Catalogue() (map[string]Script, error) {
	all := map[string]Script{}
	for _, f := range txtar.Parse(catalogue).Files {
		s, err := Parse(string(f.Data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		all[f.Name] = s
	}
	return all, nil
}

// Crashes counts the deaths of hosts.
type Crashes struct {
	Turns      int // in a turn
	Recoveries int // in the recovery from that
	Held       int // with a call that waited for a person
}

// PlayCrashes plays a script whose log is kept in logs. Then it opens and prompts the log that a
// crash would have left: after each event, or after every second one, and so on. It is called as
// [Play] is.
func PlayCrashes(s Script, logs *Logs, every int) (Crashes, Report) {
	w := newWorld(s, logs)
	w.play()
	w.verdict()
	c := w.crashes(1, every, true)
	return c, w.report()
}

// crashes opens what a crash would have left, after each event from the one on, and prompts
// it. With recovering, the recovery crashes too.
func (w *world) crashes(from, every int, recovering bool) (c Crashes) {
	for at := from; at <= w.disk.len(); at += every {
		d := w.disk.first(at)
		w.probe(d, w.script.Wire)
		c.Held += w.heldCalls(d)
		w.holds(d)
		c.Turns++
		if recovering {
			c.Recoveries += w.recoveries(at)
		}
	}
	return c
}

// recoveries crashes once more, after each event that the recovery from the first crash
// wrote.
func (w *world) recoveries(at int) (n int) {
	d := w.disk.first(at)
	if !w.opens(d) {
		return 0
	}
	for next := at + 1; next < d.len(); next++ {
		c := d.first(next)
		if w.opens(c) {
			w.holds(c)
		}
		n++
	}
	return n
}
