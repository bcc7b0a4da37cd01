package bound

import (
	"fmt"
	"testing"
)

func TestSharedMakesAValueOnce(t *testing.T) {
	var s Shared[string, *int]
	made := 0
	of := func(key string) *int { return s.Of(key, func() *int { made++; return new(int) }) }
	if a, b := of("a"), of("a"); a != b || made != 1 {
		t.Errorf("%d values of one key", made)
	}
	if of("a") == of("b") {
		t.Error("two keys have the same value")
	}
}

func TestSharedIsBounded(t *testing.T) {
	var s Shared[string, int]
	for n := range 3 * maxShared {
		if got := s.Of(fmt.Sprint(n), func() int { return n }); got != n {
			t.Fatalf("the value of %d is %d", n, got)
		}
		if len(s.made) > maxShared {
			t.Fatalf("it keeps %d values", len(s.made))
		}
	}
}
