package shake

import (
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// draws returns the decisions of a schedule at its first points.
func draws(seed uint64) (out []uint64) {
	var s Schedule
	s.seed(seed)
	for range 100 {
		out = append(out, s.next())
	}
	return out
}

func TestSeedFixesTheSchedule(t *testing.T) {
	if !slices.Equal(draws(7), draws(7)) {
		t.Error("a seed gives two schedules")
	}
	if slices.Equal(draws(7), draws(8)) {
		t.Error("two seeds give one schedule")
	}
}

// Of two goroutines that are ready, either may come first, and a few
// nanoseconds of virtual time pass at most.
func TestPointsChangeTheOrder(t *testing.T) {
	firsts := map[string]bool{}
	for seed := range uint64(200) {
		synctest.Test(t, func(*testing.T) {
			var s Schedule
			s.seed(seed)
			s.waits.Store(true)
			began := time.Now()
			order := make(chan string, 2)
			for _, name := range []string{"a", "b"} {
				go func() {
					for range 5 {
						s.point()
					}
					order <- name
				}()
			}
			firsts[<-order] = true
			<-order
			if took := time.Since(began); took > time.Microsecond {
				t.Errorf("it took %v", took)
			}
		})
	}
	if len(firsts) != 2 {
		t.Errorf("first came only %v", firsts)
	}
}

// A goroutine that holds a lock does not sleep.
func TestPlaces(t *testing.T) {
	pc, _, line, _ := runtime.Caller(0)
	for want, list := range map[bool][]Lines{
		true:  {{File: "internal/test/shake/other.go", From: 1, To: 999}, {File: "internal/test/shake/point_test.go", From: line, To: line}},
		false: {{File: "internal/test/shake/point_test.go", From: line + 1, To: line + 9}},
	} {
		p := places{list: func() []Lines { return list }}
		if got := p.at(pc); got != want {
			t.Errorf("%v: %t", list, got)
		}
	}
}
