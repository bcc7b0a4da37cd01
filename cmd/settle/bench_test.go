//go:build unix

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// build makes the binary as it is shipped; the test's own is larger. SETTLE_BENCH_BINARY names
// another build, such as the last release, to compare with.
func build(b testing.TB) (binary string) {
	b.Helper()
	if binary = os.Getenv("SETTLE_BENCH_BINARY"); binary != "" {
		return binary
	}
	binary = filepath.Join(b.TempDir(), "settle")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func benchmarked(b *testing.B, binary string, args ...string) *exec.Cmd {
	b.Helper()
	cmd := exec.Command(binary, append([]string{"run", "-m", "chat/m"}, args...)...)
	cmd.Dir = b.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SETTLE_DATA_DIR=" + b.TempDir()}
	return cmd
}

// BenchmarkStart measures from the start of the process to the first byte of
// its first request to a model, in a directory of no repository and in one.
// Budget: 25 ms, and 40 MiB for the binary.
func BenchmarkStart(b *testing.B) {
	for _, where := range []string{"directory", "repository"} {
		b.Run(where, func(b *testing.B) {
			binary := build(b)
			dir := b.TempDir()
			if where == "repository" {
				if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
			}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer listener.Close()
			var total time.Duration
			for b.Loop() {
				cmd := benchmarked(
					b, binary, "-C", dir, "--retries", "0", "--base-url", "http://"+listener.Addr().String()+"/v1",
					"hi",
				)
				began := time.Now()
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				total += firstPost(b, listener).Sub(began)
				_ = cmd.Wait() // it fails: nobody answers
			}
			b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms/first-byte")
			if info, err := os.Stat(binary); err == nil {
				b.ReportMetric(float64(info.Size())/1e6, "MB/binary")
			}
		})
	}
}

// firstPost refuses all requests that are not to a model, and returns when the first byte of a
// request to a model arrives.
func firstPost(b *testing.B, listener net.Listener) time.Time {
	b.Helper()
	for {
		conn, err := listener.Accept()
		if err != nil {
			b.Fatal(err)
		}
		first := make([]byte, 1)
		_, err = conn.Read(first)
		at := time.Now()
		_ = conn.Close()
		if err == nil && first[0] == 'P' {
			return at
		}
	}
}

// BenchmarkFlood measures the CPU time of a run that gets 50,000 deltas, and
// its memory. Budgets: 0.4 s, 30 MB.
func BenchmarkFlood(b *testing.B) {
	const deltas = 50_000
	for _, format := range []string{"-q", "--json", "--json=deltas"} {
		b.Run(format, func(b *testing.B) {
			binary := build(b)
			server := modeltest.NewServer(
				nil, modeltest.Scenario{Loop: true, Turns: []modeltest.Turn{modeltest.Reply(modeltest.Flood(deltas))}},
			)
			defer server.Close()
			var cpu time.Duration
			var memory int64
			for b.Loop() {
				cmd := benchmarked(b, binary, format, "--base-url", server.OpenAI(), "hi")
				if out, err := cmd.Output(); err != nil || len(out) == 0 {
					b.Fatalf("%v: %d bytes", err, len(out))
				}
				cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				memory = max(memory, residentBytes(cmd))
			}
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/run")
			b.ReportMetric(float64(memory)/1e6, "MB/resident")
		})
	}
}

func residentBytes(cmd *exec.Cmd) int64 {
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	unit := int64(1024) // Linux counts kilobytes, others bytes
	if _, err := os.Stat("/proc/self"); err != nil {
		unit = 1
	}
	return usage.Maxrss * unit
}

// BenchmarkProcesses measures runs side by side on one data directory.
func BenchmarkProcesses(b *testing.B) {
	for _, side := range []int{1, 16} {
		b.Run(strconv.Itoa(side), func(b *testing.B) {
			binary := build(b)
			server := modeltest.NewServer(
				nil, modeltest.Scenario{Loop: true, Turns: []modeltest.Turn{modeltest.Say("hello")}},
			)
			defer server.Close()
			data := b.TempDir()
			for b.Loop() {
				all := make([]*exec.Cmd, side)
				for i := range all {
					all[i] = benchmarked(b, binary, "--data-dir", data, "--base-url", server.OpenAI(), "hi")
					if err := all[i].Start(); err != nil {
						b.Fatal(err)
					}
				}
				for _, cmd := range all {
					if err := cmd.Wait(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
