package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// streams is a model server that begins an answer for each request, adds a word each second,
// and completes all answers when it is released.
type streams struct {
	open, connections atomic.Int64
	released          chan struct{}
}

// ServeHTTP implements [http.Handler].
func (s *streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost { // settle asks a server on the same machine for its models
		http.NotFound(w, r)
		return
	}
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
// with its usual tools. Each streams from a model, over HTTP/1.1 without TLS as from a server on the
// same machine, and over HTTP/2 as from a provider. It reports the memory of the process while all of
// them stream, and how many connections they have.
func BenchmarkMemory(b *testing.B) {
	b.Run("http=1", func(b *testing.B) { benchmarkMemory(b, false) })
	b.Run("http=2", func(b *testing.B) { benchmarkMemory(b, true) })
}

func benchmarkMemory(b *testing.B, http2 bool) {
	home(b)
	model := &streams{released: make(chan struct{})}
	server, environ := model.serve(b, http2)
	must(b, "", "migrate")
	var lines strings.Builder
	for n := range b.N {
		fmt.Fprintf(&lines, `{"session":"s%d","prompt":"say something"}`+"\n", n)
	}
	// On a busy machine, heartbeats of turns that start all at once come late.
	must(b, lines.String(), "submit", "--heartbeat-timeout", "1m", "-C", b.TempDir(), "-f", "-")
	cmd := exec.Command(os.Args[0])
	args := []string{"worker", "-m", "chat/words", "--base-url", server + "/v1", "--slots", fmt.Sprint(b.N)}
	cmd.Env = append(append(os.Environ(), environ...), roleVar+"="+roleCommand, argsVar+"="+strings.Join(args, "\t"))
	cmd.Stderr = b.Output()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	for model.open.Load() < int64(b.N) {
		time.Sleep(10 * time.Millisecond)
	}
	b.ReportMetric(proportional(b, cmd.Process.Pid), "MB")
	b.ReportMetric(float64(model.connections.Load()), "connections")
	close(model.released)
	must(b, "", "results", "--wait")
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		b.Error(err)
	}
}

// serve starts the model's server. It returns its URL, and the environment of a worker that trusts it.
func (s *streams) serve(b *testing.B, http2 bool) (url string, environ []string) {
	b.Helper()
	server := httptest.NewUnstartedServer(s)
	b.Cleanup(server.Close)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.connections.Add(1)
		case http.StateClosed:
			s.connections.Add(-1)
		}
	}
	if !http2 {
		server.Start()
		return server.URL, nil
	}
	server.EnableHTTP2 = true
	server.StartTLS()
	root := filepath.Join(b.TempDir(), "root.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	if err := os.WriteFile(root, pem.EncodeToMemory(block), 0o600); err != nil {
		b.Fatal(err)
	}
	return server.URL, []string{"SSL_CERT_FILE=" + root}
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
