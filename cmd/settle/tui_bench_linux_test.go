package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/test/longlog"
	"github.com/settle-agent/settle/modeltest"
)

// watched is a terminal whose output a benchmark waits for.
type watched struct {
	mu    sync.Mutex // guards the fields below
	bytes int
	last  []byte // the end of the output
	wants []byte
	found chan time.Time
}

func (w *watched) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += len(data)
	w.last = append(w.last, data...)
	if w.wants != nil && bytes.Contains(w.last, w.wants) {
		w.wants = nil
		w.found <- time.Now()
	}
	w.last = w.last[max(len(w.last)-4096, 0):]
	return len(data), nil
}

// await calls what, and returns the time when the text arrived.
func (w *watched) await(b *testing.B, text string, what func()) time.Time {
	b.Helper()
	w.mu.Lock()
	w.wants, w.last = []byte(text), nil
	w.mu.Unlock()
	what()
	select {
	case at := <-w.found:
		return at
	case <-time.After(patience):
		w.mu.Lock()
		defer w.mu.Unlock()
		b.Fatalf("%q never came; the last bytes are %q", text, w.last)
		return time.Time{}
	}
}

func startTUI(b *testing.B, binary string, args ...string) (*exec.Cmd, *os.File, *watched) {
	b.Helper()
	return startTUIIn(b, b.TempDir(), binary, append([]string{"-m", "chat/m"}, args...)...)
}

// startTUIIn starts settle with a data directory.
func startTUIIn(b *testing.B, data, binary string, args ...string) (*exec.Cmd, *os.File, *watched) {
	b.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Dir = b.TempDir()
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "SETTLE_DATA_DIR=" + data, "TERM=xterm-256color",
		"XDG_CONFIG_HOME=" + filepath.Join(data, "config"), // see BenchmarkTUIStart
	}
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		b.Fatal(err)
	}
	w := &watched{found: make(chan time.Time, 1)}
	read := make(chan struct{})
	go func() { // ends when the terminal is closed
		defer close(read)
		_, _ = io.Copy(w, terminal)
	}()
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = terminal.Close()
		<-read
	})
	return cmd, terminal, w
}

// BenchmarkTUIKey measures from a key press to its character on the terminal while
// 2,000 deltas a second stream. Budget: p50 4 ms, p99 16 ms, 4 KB a frame.
func BenchmarkTUIKey(b *testing.B) {
	binary := build(b)
	server := modeltest.NewServer(
		b,
		modeltest.Script(
			modeltest.Reply(modeltest.Item{Text: "word and more\n", Times: 400_000}).Paced(500*time.Microsecond),
		),
	)
	cmd, terminal, w := startTUI(b, binary, "--base-url", server.OpenAI(), "say much")
	w.await(b, "word", func() {})
	var took []time.Duration
	before := cpu(cmd.Process.Pid)
	bytes, begun := w.bytes, time.Now()
	n := 0
	for b.Loop() {
		n++
		key := fmt.Sprintf("%c", 'a'+n%26)
		pressed := time.Now()
		at := w.await(b, key+key, func() { _, _ = terminal.WriteString(key + key) })
		took = append(took, at.Sub(pressed))
		if n%20 == 0 {
			_, _ = terminal.WriteString("\x15") // the line again
		}
		<-time.After(7 * time.Millisecond)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "ms-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1e3, "ms-p99")
	w.mu.Lock()
	defer w.mu.Unlock()
	b.ReportMetric(float64(w.bytes-bytes)/time.Since(begun).Seconds()/1e3, "KB/s-written")
	b.ReportMetric((cpu(cmd.Process.Pid)-before)/time.Since(begun).Seconds()*100, "%CPU")
}

// BenchmarkTUIStart measures from the start of the process to the editor on the
// terminal, for each process that can host the session. Budget: 60 ms.
func BenchmarkTUIStart(b *testing.B) {
	binary := build(b)
	for _, host := range []string{config.HostInside, config.HostOwn} {
		b.Run(host, func(b *testing.B) {
			data := b.TempDir()
			if err := os.MkdirAll(filepath.Join(data, "config", "settle"), 0o700); err != nil {
				b.Fatal(err)
			}
			file := filepath.Join(data, "config", "settle", "config.toml")
			if err := os.WriteFile(file, []byte("[terminal]\nhost = \""+host+"\"\n"), 0o600); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				_, _, w := startTUIIn(
					b, data, binary, "-m", "chat/m", "--base-url", "http://127.0.0.1:1/v1",
				)
				w.await(b, "? for shortcuts", func() {})
			}
		})
	}
}

// BenchmarkTUIIdle counts how often an idle terminal wakes up. Budget: never.
func BenchmarkTUIIdle(b *testing.B) {
	binary := build(b)
	cmd, _, w := startTUI(b, binary, "--base-url", "http://127.0.0.1:1/v1")
	w.await(b, "? for shortcuts", func() {})
	<-time.After(2 * time.Second) // the runtime's own beginnings
	for b.Loop() {
		before := switches(b, cmd.Process.Pid)
		<-time.After(5 * time.Second)
		b.ReportMetric(float64(switches(b, cmd.Process.Pid)-before)/5, "switches/s")
	}
}

// switches returns how often the process was scheduled, over all its threads.
func switches(b *testing.B, pid int) (n int) {
	b.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, thread := range threads {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, thread.Name()))
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(status)) {
			if name, value, _ := strings.Cut(line, ":"); strings.HasSuffix(name, "ctxt_switches") {
				count, _ := strconv.Atoi(strings.TrimSpace(value))
				n += count
			}
		}
	}
	return n
}

// BenchmarkTUIMemory measures the resident memory after an answer of 5 MB, in
// 200,000 pieces. Budget: 40 MB.
func BenchmarkTUIMemory(b *testing.B) {
	binary := build(b)
	for b.Loop() {
		server := modeltest.NewServer(
			b,
			modeltest.Script(
				modeltest.Reply(
					modeltest.Item{Text: "some words and an end of\n\n", Times: 200_000},
					modeltest.Text("\n\nThe very end."),
				),
			),
		)
		cmd, _, w := startTUI(b, binary, "--base-url", server.OpenAI(), "say much")
		w.await(b, "✓ ", func() {})
		<-time.After(3 * time.Second) // unused memory is returned when nothing happens
		b.ReportMetric(resident(cmd.Process.Pid)/1e6, "MB")
		b.ReportMetric(status(b, cmd.Process.Pid, "VmHWM")*1024/1e6, "MB-at-most")
		b.ReportMetric(cpu(cmd.Process.Pid), "s-CPU")
	}
}

// BenchmarkTUIResume measures from the start of the process to the last turns of a
// session of 150,000 events and 100 MB, and the resident memory then. Budget: 300 ms
// and 80 MB.
func BenchmarkTUIResume(b *testing.B) {
	binary, data := build(b), b.TempDir()
	log, _, err := journal.Open(b.Context(), journal.Options{Dir: data, Session: "long"})
	if err != nil {
		b.Fatal(err)
	}
	for batch := range longlog.Updates(150_000, longlog.Few) {
		if err := log.Update(func(event.State) []event.Event { return batch }); err != nil {
			b.Fatal(err)
		}
	}
	if err := log.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	var memory, most, spent float64
	for b.Loop() {
		cmd, terminal, w := startTUIIn(
			b, data, binary, "resume", "-m", "chat/m", "--base-url", "http://127.0.0.1:1/v1", "long",
		)
		w.await(b, "? for shortcuts", func() {})
		b.StopTimer()
		<-time.After(2 * time.Second) // unused memory is returned when nothing happens
		memory, most, spent = resident(cmd.Process.Pid), status(b, cmd.Process.Pid, "VmHWM")*1024, cpu(cmd.Process.Pid)
		_, _ = terminal.WriteString("\x04")
		_ = cmd.Wait()
		b.StartTimer()
	}
	b.ReportMetric(spent, "s-CPU")
	b.ReportMetric(memory/1e6, "MB")
	b.ReportMetric(most/1e6, "MB-at-most")
}

// status returns a number of a process's status.
func status(b *testing.B, pid int, name string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); key == name {
			n, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return n
		}
	}
	b.Fatalf("%s is not there", name)
	return 0
}
