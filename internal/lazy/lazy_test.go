package lazy

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func TestValueIsComputedOnceWhenNeeded(t *testing.T) {
	calls := 0
	get := Value(func() int { calls++; return 7 })
	if calls != 0 {
		t.Fatal("it was computed before it was needed")
	}
	if a, b := get(), get(); a != 7 || b != 7 || calls != 1 {
		t.Errorf("%d and %d after %d calls, want 7 and 7 after one", a, b, calls)
	}
}

func TestValuesAreComputedOnce(t *testing.T) {
	calls := 0
	get := Values(func() (string, error) { calls++; return "x", nil })
	_, _ = get()
	if value, err := get(); value != "x" || err != nil || calls != 1 {
		t.Errorf("%q, %v after %d calls", value, err, calls)
	}
}

func TestRegexp(t *testing.T) {
	digits := Regexp(`^\d+$`)
	first, second := digits(), digits()
	if !first.MatchString("12") || first.MatchString("x") || first != second {
		t.Error("it is not the expression, compiled once")
	}
	broken := Regexp(`(`)
	defer func() {
		if recover() == nil {
			t.Error("a broken expression does not panic")
		}
	}()
	broken()
}
