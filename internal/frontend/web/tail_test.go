package web_test

import (
	"fmt"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model/script"
)

// A client that wants the last turns reads from where they begin, of a session
// that is open and of one that is not.
func TestTail(t *testing.T) {
	b := serve(t, setup{dir: t.TempDir(), model: script.New().Otherwise(script.Text("done"))})
	session := b.session("s")
	for n := range 5 {
		b.input(session, fmt.Sprint("question ", n))
		b.until(session, func(e event.Event) bool { return e.Terminal() && e.Turn == fmt.Sprintf("t%06d", n+1) })
	}
	check := func(state string) {
		t.Helper()
		type answer struct {
			Tail *struct {
				After   uint64
				Earlier int
				Inputs  []struct{ Text string }
			}
		}
		if a := ask[answer](b, "GET", session, nil, 200); a.Tail != nil {
			t.Errorf("%s: nobody asked for a tail", state)
		}
		if a := ask[answer](b, "GET", session+"?turns=9", nil, 200); a.Tail.After != 0 || a.Tail.Earlier != 0 {
			t.Errorf("%s: all turns begin at %+v", state, a.Tail)
		}
		a := ask[answer](b, "GET", session+"?turns=2", nil, 200)
		if a.Tail.Earlier != 3 || len(a.Tail.Inputs) != 2 || a.Tail.Inputs[0].Text != "question 3" {
			t.Fatalf("%s: the tail is %+v", state, a.Tail)
		}
		for e := range b.watch(t.Context(), session, a.Tail.After) {
			if _, ok := e.Data.(event.TurnStarted); !ok || e.Turn != "t000004" {
				t.Errorf("%s: the first event is %v of %s", state, e.Kind(), e.Turn)
			}
			break
		}
	}
	check("open")
	ask[object](b, "DELETE", session, nil, 204)
	check("closed")
	for _, bad := range []string{"0", "-1", "x", "1e3"} {
		ask[object](b, "GET", session+"?turns="+bad, nil, 400)
	}
}
