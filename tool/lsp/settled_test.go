package lsp

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

// A server that reports the begin of work and never its end is busy for a bounded time only.
func TestSettledBoundsWorkWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		found := newPublished("")
		begin := progress{Token: json.RawMessage("1")}
		begin.Value.Kind = "begin"
		s := &server{
			language: Language{Quiet: time.Second},
			conn:     &connection{found: found, drained: make(chan struct{})},
		}
		ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
		defer cancel()
		settled := func() bool {
			t.Helper()
			isComplete, err := s.settled(ctx, nil, 0, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			return isComplete
		}
		if !settled() {
			t.Error("the errors of an idle server are not complete")
		}
		found.report(begin)
		if settled() {
			t.Error("the errors of a server that works are complete")
		}
		begin.Value.Kind = "end"
		time.AfterFunc(30*time.Second, func() { found.report(begin) })
		if !settled() {
			t.Error("the errors are not complete after the end of the work")
		}
	})
}
