package executor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// A command that runs alone waits for the sandboxed commands of calls, and later sandboxed commands
// wait for it. An interrupt ends each wait.
func TestExclusionKeepsSandboxedCommandsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Exclusion
		first, err := e.enterSandboxed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		alone := make(chan func(), 1)
		go func() { // ends when the sandboxed command leaves
			leave, err := e.enterAlone(t.Context())
			if err != nil {
				t.Error(err)
			}
			alone <- leave
		}()
		synctest.Wait()
		if len(alone) > 0 {
			t.Error("a command runs alone beside a sandboxed one")
		}
		entered := make(chan func(), 1)
		go func() { // ends when no command runs alone
			leave, err := e.enterSandboxed(t.Context())
			if err != nil {
				t.Error(err)
			}
			entered <- leave
		}()
		synctest.Wait()
		interrupted, interrupt := context.WithCancelCause(t.Context())
		failures := make(chan error, 1)
		go func() { // ends with the interrupt
			_, err := e.enterSandboxed(interrupted)
			failures <- err
		}()
		synctest.Wait()
		cause := errors.New("interrupted")
		interrupt(cause)
		if err := <-failures; !errors.Is(err, cause) {
			t.Errorf("an interrupted wait returns %v", err)
		}
		first()
		first() // has no effect
		leave := <-alone
		synctest.Wait()
		if len(entered) > 0 {
			t.Error("a sandboxed command starts beside one that runs alone")
		}
		leave()
		leave() // has no effect
		(<-entered)()
		if e.alone != 0 || e.calls != 0 {
			t.Errorf("%d commands run alone and %d are sandboxed at the end", e.alone, e.calls)
		}
	})
}

// A wait to run alone that an interrupt ends keeps no sandboxed command from starting.
func TestExclusionInterruptedAlone(t *testing.T) {
	var e Exclusion
	stay, err := e.enterSandboxed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := e.enterAlone(interrupted); err == nil {
		t.Error("an interrupted call runs alone")
	}
	other, err := e.enterSandboxed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stay()
	other()
	leave, err := e.enterAlone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leave()
}

// Commands that run alone run one after another.
func TestExclusionKeepsCommandsThatRunAloneApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Exclusion
		leave, err := e.enterAlone(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan func(), 1)
		go func() { // ends when the first command leaves
			leave, err := e.enterAlone(t.Context())
			if err != nil {
				t.Error(err)
			}
			second <- leave
		}()
		interrupted, interrupt := context.WithCancel(t.Context())
		synctest.Wait()
		if len(second) > 0 {
			t.Error("two commands run alone at once")
		}
		interrupt()
		if _, err := e.enterAlone(interrupted); err == nil {
			t.Error("an interrupted call runs alone")
		}
		leave()
		(<-second)()
		if e.alone != 0 || e.running {
			t.Errorf("%d commands run alone at the end: %v", e.alone, e.running)
		}
	})
}
