package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
)

// BenchmarkWorkspace measures what a workspace of this project's own repository costs:
// a clone, a checkpoint of ten changed files, and making it anew from that.
func BenchmarkWorkspace(b *testing.B) {
	p := fleettest.New(b, &server)
	from, err := filepath.Abs("../..")
	if err != nil {
		b.Fatal(err)
	}
	k := keeper(b, p)
	a := attempt(
		b,
		p,
		fleet.Task{
			Session: "s",
			Repo:    "file://" + git(b, from, "rev-parse", "--path-format=absolute", "--git-common-dir"),
			Ref:     git(b, from, "rev-parse", "HEAD"),
		},
	)
	at, err := k.Prepare(b.Context(), a)
	if err != nil {
		b.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(at.Dir, "*.go"))
	if err != nil || len(names) < 10 {
		b.Fatal(names, err)
	}
	for _, name := range names[:10] {
		if err := os.WriteFile(name, []byte("package settle\n"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	var c fleet.Checkpoint
	b.Run("checkpoint", func(b *testing.B) {
		for b.Loop() {
			if c, err = k.Checkpoint(b.Context(), a, at, "t"); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(c.Bytes), "bundle-B")
	})
	b.Run("find", func(b *testing.B) {
		for b.Loop() {
			if _, err := k.Prepare(b.Context(), a); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("anew", func(b *testing.B) {
		for b.Loop() {
			if _, err := keeper(b, p).Prepare(b.Context(), a); err != nil {
				b.Fatal(err)
			}
		}
	})
}
