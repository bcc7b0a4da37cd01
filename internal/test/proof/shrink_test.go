package proof

import (
	"slices"
	"testing"
	"time"
)

// shrink returns the shortest script that it finds for which fails is true, as
// it is for s, before the time is over.
func shrink(s Script, within time.Duration, fails func(Script) bool) Script {
	deadline := time.Now().Add(within)
	for again := true; again; {
		again = false
		for _, c := range smaller(s) {
			if time.Now().After(deadline) {
				return s
			}
			if fails(c) {
				s, again = c, true
				break
			}
		}
	}
	return s
}

// smaller returns the scripts that have one thing less, the largest first.
func smaller(s Script) (out []Script) {
	add := func(change func(*Script)) {
		c := s
		change(&c)
		if c.String() != s.String() {
			out = append(out, c)
		}
	}
	for i := range s.Responses {
		add(func(c *Script) { c.Responses = without(s.Responses, i) })
	}
	for i := range s.Moves {
		if s.Moves[i].Do == Send && i == 0 {
			continue // with nothing sent nothing happens
		}
		add(func(c *Script) { c.Moves = without(s.Moves, i) })
	}
	for i := range s.Readers {
		add(func(c *Script) { c.Readers = without(s.Readers, i) })
	}
	add(func(c *Script) { c.Families = false })
	add(func(c *Script) { c.Searches = false })
	add(func(c *Script) { c.Ask, c.Answers, c.Reviews, c.Plan = false, nil, nil, false })
	for _, lift := range []func(*Limits){
		func(l *Limits) { l.Steps = 0 }, func(l *Limits) { l.Repeats = 0 }, func(l *Limits) { l.Time = 0 },
		func(l *Limits) { l.Retries, l.Retried = 0, false }, func(l *Limits) { l.Stall = 0 }, func(l *Limits) { l.Grace = 0 },
	} {
		add(func(c *Script) { lift(&c.Limits) })
	}
	add(func(c *Script) { c.Window = 0 })
	add(func(c *Script) { c.Holds = Holds{} })
	for i, r := range s.Responses {
		for _, smaller := range smallerResponses(r) {
			add(func(c *Script) {
				c.Responses = slices.Clone(s.Responses)
				c.Responses[i] = smaller
			})
		}
	}
	for i := range s.Moves {
		add(func(c *Script) {
			c.Moves = slices.Clone(s.Moves)
			if c.Moves[i].Do == Send {
				c.Moves[i].Text = "a"
			}
		})
	}
	return out
}

func smallerResponses(r Response) (out []Response) {
	add := func(change func(*Response)) {
		c := r
		change(&c)
		out = append(out, c)
	}
	for i := range r.Items {
		add(func(c *Response) { c.Items = without(r.Items, i) })
	}
	for i := range r.Faults {
		add(func(c *Response) { c.Faults = without(r.Faults, i) })
	}
	add(func(c *Response) { c.Stop = "" })
	add(func(c *Response) { c.Pace = 0 })
	for i, item := range r.Items {
		change := func(item Item) {
			add(func(c *Response) {
				c.Items = slices.Clone(r.Items)
				c.Items[i] = item
			})
		}
		for n := range item.Plan {
			change(Item{Kind: item.Kind, Plan: without(item.Plan, n)})
		}
		if item.Text != "" {
			change(Item{Kind: item.Kind, Text: "a"})
		}
	}
	return out
}

func without[T any](list []T, i int) []T { return slices.Delete(slices.Clone(list), i, i+1) }

func TestShrink(t *testing.T) {
	s, err := Parse(
		"limit steps 3\nask\nmodel paced 1s\n  say \"b\"\n  call take 2s, panic\nmodel\n  say \"c\"\ninput \"go\"\non 3 crash\non 4 crash\nreader",
	)
	if err != nil {
		t.Fatal(err)
	}
	got := shrink(s, time.Minute, func(c Script) bool {
		crashes := slices.ContainsFunc(c.Moves, func(m Move) bool { return m.Do == Crash })
		panics := slices.ContainsFunc(c.Responses, func(r Response) bool {
			return slices.ContainsFunc(r.Items, func(i Item) bool { return slices.Contains(i.Plan, Step{Kind: Panic}) })
		})
		return crashes && panics
	})
	if want := "model\n  call panic\ninput \"a\"\non 4 crash\n"; got.String() != want {
		t.Errorf("shrunk to\n%s\nwant\n%s", got, want)
	}
}
