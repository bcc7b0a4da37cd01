package agents

import (
	"testing"
	"testing/synctest"
)

// A subscriber of the parent can know a child before Spawn has registered it.
func TestSpawnerEventsWaitForStartingChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSpawner(Config{})
		registered := s.begin() // as Spawn, before the child's start is in the log
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range s.Events(t.Context(), "c000001") {
				t.Error("a child without a session has an event")
			}
		}()
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("the events ended before the child was registered")
		default:
		}
		c := &child{opened: make(chan struct{})}
		s.mu.Lock()
		s.children["c000001"] = c
		s.mu.Unlock()
		registered()
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("the events ended before the child was open")
		default:
		}
		close(c.opened)
		<-ended
		for range s.Events(t.Context(), "c000002") { // of another process: it ends at once
			t.Error("an unknown child has an event")
		}
	})
}
