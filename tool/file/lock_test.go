package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/tool"
)

func TestLockWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		release, err := l.acquire(t.Context(), "b", "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("interrupted")
		var waiting sync.WaitGroup
		waiting.Go(func() { // ends by cancel; Wait below waits for it
			if _, err := l.acquire(ctx, "c", "b"); !errors.Is(err, cause) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		other, err := l.acquire(t.Context(), "d") // Other keys do not wait.
		if err != nil {
			t.Fatal(err)
		}
		other()
		cancel(cause)
		waiting.Wait()
		release()
		again, err := l.acquire(t.Context(), "a", "b", "c") // All keys are free.
		if err != nil {
			t.Fatal(err)
		}
		again()
		if len(l.held) != 0 {
			t.Errorf("%d locks are left", len(l.held))
		}
	})
}

// Calls with the same paths in different orders never wait for each other.
func TestLockOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l locks
		var all sync.WaitGroup
		holders := map[string]int{}
		for _, keys := range [][]string{{"a", "b"}, {"b", "a"}, {"c", "a"}, {"b", "c", "a"}, {"a"}} {
			for range 20 {
				all.Go(func() { // ends after its turn; Wait below waits for it
					release, err := l.acquire(t.Context(), keys...)
					if err != nil {
						t.Error(err)
						return
					}
					defer release()
					if holders["a"]++; holders["a"] != 1 {
						t.Error("two hold a")
					}
					holders["a"]--
				})
			}
		}
		all.Wait()
	})
}

// Every one of many concurrent edits of one file, through its name and a link, is kept.
func TestParallelEditsAreSerialised(t *testing.T) {
	f := newFixture(t)
	text := ""
	for i := range 20 {
		text += fmt.Sprintf("<%d>\n", i)
	}
	f.put("x", text)
	if err := os.Symlink("x", f.path("y")); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	want := ""
	for i := range 20 {
		want += fmt.Sprintf("(%d)\n", i)
		calls.Go(func() { // Wait below waits for it
			name := []string{"x", "y"}[i%2]
			raw := fmt.Sprintf(`{"path":%q,"old_string":"<%d>","new_string":"(%d)"}`, name, i, i)
			if _, err := f.set.Run(t.Context(), tool.Call{Name: "edit", Args: []byte(raw), Dir: f.dir}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	f.want("x", want)
}
