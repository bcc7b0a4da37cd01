package web_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model/script"
)

// Unused sessions are closed, and opened again at the next request; sessions with a watcher or a
// call that waits for a person stay open.
func TestIdleSessionsAreClosed(t *testing.T) {
	s := setup{dir: t.TempDir(), model: script.New().Otherwise(script.Text("done"))}
	s.limits.SessionIdleTimeout = 10 * time.Minute
	virtually(t, s, func(b *harness, _ *pipes) {
		idle, watched := b.session("idle"), b.session("watched")
		ctx, cancel := context.WithCancel(b.Context())
		all, err := b.connect(ctx, watched, 0)
		if err != nil {
			b.Fatal(err)
		}
		over := make(chan struct{})
		go func() { // ends with cancel
			defer close(over)
			for range all {
			}
		}()
		b.input(idle, "hello")
		b.until(idle, event.Event.Terminal)
		<-time.After(9 * time.Minute)
		synctest.Wait()
		b.diff("open after nine minutes", []string{"idle", "watched"}, open(b))
		<-time.After(5 * time.Minute)
		synctest.Wait()
		b.diff("open after fourteen", []string{"watched"}, open(b))
		b.input(idle, "again")
		b.until(idle, func(e event.Event) bool { return e.Terminal() && e.Turn == "t000002" })
		b.diff("open once it was wanted", []string{"idle", "watched"}, open(b))
		cancel()
		<-over
		<-time.After(9 * time.Minute)
		synctest.Wait()
		if got := open(b); !slices.Contains(got, "watched") {
			b.Error("it was closed before ten minutes were over since somebody watched it")
		}
		<-time.After(6 * time.Minute)
		synctest.Wait()
		b.diff("open at last", []string{}, open(b))
	})
}

func open(b *harness) []string {
	ids := []string{}
	for _, s := range b.host.Sessions() {
		ids = append(ids, s.ID())
	}
	slices.Sort(ids)
	return ids
}
