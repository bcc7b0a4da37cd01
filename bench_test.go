package settle_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// BenchmarkIdleSession measures an open session after a turn; the budget is 24 KiB with its
// stack.
func BenchmarkIdleSession(b *testing.B) {
	provider := script.New().Otherwise(script.Text("done"))
	host, err := settle.Open(b.Context(), settle.Config{DataDir: b.TempDir(), Secrets: []string{secret}})
	if err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 0
	for b.Loop() {
		s, err := host.Session(
			b.Context(),
			fmt.Sprint("s", n),
			settle.SessionConfig{Model: model.Config{Provider: provider, Name: "m"}},
		)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Run(b.Context(), "go"); err != nil {
			b.Fatal(err)
		}
		n++
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(
		float64(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse)/float64(n), "resident-B/session",
	)
	if err := host.Close(context.Background()); err != nil {
		b.Error(err)
	}
}
