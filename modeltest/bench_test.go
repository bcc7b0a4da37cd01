package modeltest_test

import (
	"io"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// BenchmarkFlood measures the cost of the server in a benchmark of a client: 50,000 deltas, read
// and thrown away.
func BenchmarkFlood(b *testing.B) {
	for _, d := range dialects {
		b.Run(d.name, func(b *testing.B) {
			srv := modeltest.NewServer(b, modeltest.Scenario{
				Turns: []modeltest.Turn{modeltest.Reply(modeltest.Flood(50_000))}, Loop: true,
			})
			for b.Loop() {
				res, err := srv.Client().Post(srv.URL+d.path, "application/json", strings.NewReader(d.body))
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(n)
			}
		})
	}
}
