package changes

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// plant makes a tree of that many files of 5 KB, in folders of 50.
func plant(tb testing.TB, dir string, files int) {
	tb.Helper()
	for n := range files {
		name := filepath.Join(dir, fmt.Sprintf("d%04d/d%02d/f%02d.txt", n/1000, n/50%20, n%50))
		if n%50 == 0 {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				tb.Fatal(err)
			}
		}
		content := bytes.Repeat(fmt.Appendf(nil, "%08d\n", n), 5000/9)
		if err := os.WriteFile(name, content, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkRecord measures the cost of a call: the first one of a session, which copies the tree,
// and one that changes a file. A tree of 100,000 files is beyond the default limits.
//
//	go test ./internal/disk/changes -run none -bench Record -benchtime 20x
func BenchmarkRecord(b *testing.B) {
	large := b.TempDir()
	plant(b, large, 100_000)
	for _, size := range []struct {
		files  int
		limits Limits
	}{{2500, Limits{}}, {12_000, Limits{}}, {100_000, Limits{}}, {100_000, Limits{Files: 1 << 30, Time: time.Minute}}} {
		dir := large
		if size.files < 100_000 {
			dir = b.TempDir()
			plant(b, dir, size.files)
		}
		held, err := disk.HoldWorkDir(dir)
		if err != nil {
			b.Fatal(err)
		}
		name := fmt.Sprintf("%d-files", size.files)
		if size.limits.Files > 0 {
			name += "-no-limit"
		}
		open := func() *Recorder {
			return NewRecorder(b.Context(), Config{
				Dir: held, Store: disk.NewContentStore(b.TempDir(), 1<<30), Limits: size.limits,
			})
		}
		call := func(r *Recorder, n int) Record {
			c := r.Begin(b.Context(), "c", nil)
			changed := filepath.Join(dir, "d0000", "d00", "f00.txt")
			if err := os.WriteFile(changed, fmt.Appendf(nil, "%d\n", n), 0o600); err != nil {
				b.Fatal(err)
			}
			record, _ := r.End(b.Context(), c)
			return record
		}
		b.Run(name+"/first", func(b *testing.B) {
			for n := range b.N {
				r := open()
				call(r, n)
				b.StopTimer()
				_ = r.Close(b.Context())
				b.StartTimer()
			}
		})
		b.Run(name+"/next", func(b *testing.B) {
			r := open()
			call(r, -1)
			b.ResetTimer()
			for n := range b.N {
				call(r, n)
			}
			b.StopTimer()
			_ = r.Close(b.Context())
		})
		held.Close()
	}
}
