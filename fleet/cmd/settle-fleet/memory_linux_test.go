package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// streams is a model server that begins an answer for each request, adds a word each second,
// and completes all answers when it is released.
type streams struct {
	open     atomic.Int64
	released chan struct{}
}

// ServeHTTP implements [http.Handler].
func (s *streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	say := func(delta string) {
		fmt.Fprintf(w, "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
		_ = flush()
	}
	say(`{"role":"assistant","content":"word "}`)
	s.open.Add(1)
	defer s.open.Add(-1)
	pause := time.NewTicker(time.Second)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
			say(`{"content":"word "}`)
		case <-s.released:
			fmt.Fprint(
				w,
				"data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
			)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// BenchmarkMemory has as many turns at once as there are iterations, in one worker process
// with its usual tools. Each streams from a model over HTTP. It reports the memory of the
// process while all of them stream.
func BenchmarkMemory(b *testing.B) {
	home(b)
	model := &streams{released: make(chan struct{})}
	server := httptest.NewServer(model)
	defer server.Close()
	must(b, "", "migrate")
	var lines strings.Builder
	for n := range b.N {
		fmt.Fprintf(&lines, `{"session":"s%d","prompt":"say something"}`+"\n", n)
	}
	// On a busy machine, heartbeats of turns that start all at once come late.
	must(b, lines.String(), "submit", "--heartbeat-timeout", "1m", "-C", b.TempDir(), "-f", "-")
	cmd := exec.Command(os.Args[0])
	args := []string{"worker", "-m", "chat/words", "--base-url", server.URL + "/v1", "--slots", fmt.Sprint(b.N)}
	cmd.Env = append(os.Environ(), roleVar+"="+roleCommand, argsVar+"="+strings.Join(args, "\t"))
	cmd.Stderr = b.Output()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	for model.open.Load() < int64(b.N) {
		time.Sleep(10 * time.Millisecond)
	}
	memory := proportional(b, cmd.Process.Pid)
	close(model.released)
	must(b, "", "results", "--wait")
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		b.Error(err)
	}
	b.ReportMetric(memory, "MB")
}

// proportional returns the memory of a process (PSS) in megabytes.
func proportional(b *testing.B, pid int) (megabytes float64) {
	b.Helper()
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(rollup)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "Pss: %f kB", &kib); err == nil {
			return kib * 1024 / 1e6
		}
	}
	b.Fatal("the kernel does not report the memory of processes")
	return 0
}
