package mcp

import (
	"testing"
)

// Requests are admitted in the order of arrival, except requests whose order does not matter.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		first, second kind
		waits         bool
	}{
		{starts, starts, false},
		{touches, starts, true},
		{submits, starts, false},
		{ends, starts, false},
		{starts, submits, true},
		{submits, submits, true},
		{touches, submits, true},
		{ends, submits, true},
		{starts, touches, true},
		{submits, touches, true},
		{touches, touches, true},
		{ends, touches, false},
	} {
		var o order
		first, second := o.enter(c.first), o.enter(c.second)
		if waits := len(second.before) > 0; waits != c.waits {
			t.Errorf("%s after %s: waits %v", c.second, c.first, waits)
		}
		first.admit()
		first.admit()
		if err := second.wait(t.Context()); err != nil {
			t.Error(err)
		}
		second.admit()
		if len(o.open) > 0 {
			t.Errorf("%d places are open", len(o.open))
		}
	}
}
