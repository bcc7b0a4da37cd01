//go:build unix

package attach_test

import (
	"os"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/test/longlog"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// BenchmarkJoin is an attached client that joins a session of so many events and leaves.
func BenchmarkJoin(b *testing.B) {
	for name, events := range map[string]int{"new": 0, "20000": 20_000} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			if events > 0 {
				write(b, dir, events)
			}
			host, err := settle.Open(b.Context(), settle.Config{DataDir: dir, Releasable: true, Attach: attach.Serve})
			if err != nil {
				b.Fatal(err)
			}
			defer host.Close(b.Context())
			if _, err := host.Session(b.Context(), "s", settle.SessionConfig{Model: model.Config{Provider: script.New(), Name: "m"}}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				attached, err := attach.Open(b.Context(), dir, "s")
				if err != nil {
					b.Fatal(err)
				}
				if err := attached.Close(); err != nil {
					b.Fatal(err)
				}
			}
			if left, err := os.ReadDir(dir + "/hosts"); err != nil || len(left) != 1 {
				b.Errorf("%v, %v", left, err)
			}
		})
	}
}

// write makes a session of so many events.
func write(b *testing.B, dir string, events int) {
	b.Helper()
	log, _, err := journal.Open(b.Context(), journal.Options{Dir: dir, Session: "s"})
	if err != nil {
		b.Fatal(err)
	}
	for e := range longlog.Events("s", events, longlog.Few) {
		if err := log.Update(func(event.State) []event.Event { return []event.Event{e} }); err != nil {
			b.Fatal(err)
		}
	}
	if err := log.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}
