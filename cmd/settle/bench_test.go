//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/settletest"
)

// bench runs the built binary against a model server in this process.
type bench struct {
	b      *testing.B
	binary string
	server *settletest.Server
	dir    string
}

func newBench(b *testing.B, scenario settletest.Scenario) *bench {
	b.Helper()
	dir := b.TempDir()
	binary := filepath.Join(dir, "settle")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, ".").CombinedOutput(); err != nil { //nolint:gosec // our own path
		b.Fatalf("cannot build: %v\n%s", err, out)
	}
	return &bench{b: b, binary: binary, server: settletest.NewServer(b, scenario), dir: dir}
}

// command returns `settle run` with a session of its own in the data directory.
func (x *bench) command(args ...string) *exec.Cmd {
	c := exec.Command(x.binary, append([]string{"run", "-m", "chat/m", "--base-url", x.server.OpenAI(), "-C", x.dir}, args...)...) //nolint:gosec // our own
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "SETTLE_DATA_DIR=" + filepath.Join(x.dir, "data")}
	return c
}

// cost is what finished processes took.
type cost struct {
	cpu time.Duration
	rss int64 // KiB, the largest
}

func (x *bench) run(c *exec.Cmd) cost {
	x.b.Helper()
	if out, err := c.CombinedOutput(); err != nil {
		x.b.Fatalf("%v: %s", err, out)
	}
	usage, _ := c.ProcessState.SysUsage().(*syscall.Rusage)
	return cost{c.ProcessState.UserTime() + c.ProcessState.SystemTime(), usage.Maxrss}
}

func always(t settletest.Turn) settletest.Scenario {
	return settletest.Scenario{Answer: func(settletest.Request) settletest.Turn { return t }}
}

// BenchmarkStart is the time from exec to the first request byte at the model
// server, headless, the resident memory of the whole turn, and the size of the
// binary. Budgets: 25 ms, 30 MB, 25 MB.
func BenchmarkStart(b *testing.B) {
	x := newBench(b, always(settletest.Say("ok")))
	var first []time.Duration
	var rss int64
	for b.Loop() {
		n := len(first)
		begun := time.Now()
		rss = max(rss, x.run(x.command("hi")).rss)
		first = append(first, x.server.Exchanges()[n].At.Sub(begun))
	}
	slices.Sort(first)
	b.ReportMetric(ms(first[len(first)/2]), "ms-to-request")
	b.ReportMetric(float64(rss)/1024, "MB-rss")
	if info, err := os.Stat(x.binary); err == nil {
		b.ReportMetric(float64(info.Size())/1e6, "MB-binary")
	}
}

// BenchmarkFlood is the CPU time of a turn of 50,000 deltas, from the wire to
// stdout, with every delta printed as JSON. Budget: 0.4 s.
func BenchmarkFlood(b *testing.B) {
	x := newBench(b, always(settletest.Reply(settletest.Flood(50_000))))
	for _, mode := range []string{"text", "json"} {
		b.Run(mode, func(b *testing.B) {
			var total time.Duration
			var rss int64
			for b.Loop() {
				c := x.command("hi")
				if mode == "json" {
					c.Args = append(c.Args, "--json=deltas")
				}
				spent := x.run(c)
				total += spent.cpu
				rss = max(rss, spent.rss)
			}
			b.ReportMetric(total.Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(rss)/1024, "MB-rss")
		})
	}
}

// BenchmarkSixteen is the wall time of 16 runs at once on one data directory,
// each with a tool call, and the CPU time of all of them.
func BenchmarkSixteen(b *testing.B) {
	call := settletest.Reply(settletest.Call("shell", `{"command":"true"}`))
	scenario := settletest.Scenario{Answer: func(r settletest.Request) settletest.Turn {
		if bytes.Contains(r.Body, []byte(`"role":"tool"`)) {
			return settletest.Say("ok")
		}
		return call
	}}
	x := newBench(b, scenario)
	var total time.Duration
	for b.Loop() {
		var wg sync.WaitGroup
		var mu sync.Mutex
		for range 16 {
			wg.Go(func() {
				spent := x.run(x.command("hi"))
				mu.Lock()
				defer mu.Unlock()
				total += spent.cpu
			})
		}
		wg.Wait()
	}
	b.ReportMetric(total.Seconds()/float64(b.N)/16, "cpu-s/run")
}

// BenchmarkInterrupt is the time from SIGINT to the terminal event on stdout,
// with a tool that ignores TERM. Budget: p99 500 ms and a durable write.
func BenchmarkInterrupt(b *testing.B) {
	x := newBench(b, always(settletest.Reply(settletest.Call("shell", `{"command":"trap '' TERM INT HUP; echo up; while :; do sleep 60; done"}`))))
	var took []time.Duration
	for b.Loop() {
		c := x.command("--json=deltas", "hi")
		out, err := c.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		lines := newLines(out)
		lines.until(b, `"text":"up`)
		asked := time.Now()
		if err := c.Process.Signal(os.Interrupt); err != nil {
			b.Fatal(err)
		}
		lines.until(b, `"kind":"turn.aborted"`)
		took = append(took, time.Since(asked))
		_, _ = io.Copy(io.Discard, out)
		_ = c.Wait() // 130
	}
	slices.Sort(took)
	b.ReportMetric(ms(took[len(took)/2]), "ms-p50")
	b.ReportMetric(ms(took[len(took)*99/100]), "ms-p99")
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// lines reads a process's output line by line.
type lines struct{ *bufio.Scanner }

func newLines(r io.Reader) lines {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	return lines{s}
}

// until reads up to a line that contains the text.
func (l lines) until(b *testing.B, text string) {
	b.Helper()
	for l.Scan() {
		if strings.Contains(l.Text(), text) {
			return
		}
	}
	b.Fatalf("the output ended without %q", text)
}
