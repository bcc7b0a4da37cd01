package shell

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/proc"
)

// hosts are the executor of a session and its successive hosts.
type hosts struct {
	t      *testing.T
	server *executor.Server
	group  sync.WaitGroup
	epoch  uint64
}

func newHosts(t *testing.T) *hosts {
	t.Helper()
	h := &hosts{t: t, server: &executor.Server{
		Settle: "test", Local: &executor.Local{Env: []string{"PATH=" + os.Getenv("PATH")}, Marker: "test-" + t.Name()},
		Spool: func() (*os.File, error) { return os.CreateTemp(t.TempDir(), "spool") },
	}}
	t.Cleanup(func() { h.server.Close(); h.group.Wait() })
	return h
}

// next returns a host that takes over the commands of the previous one.
func (h *hosts) next() *executor.Remote {
	h.t.Helper()
	h.epoch++
	r, err := executor.NewRemote(h.t.Context(), executor.RemoteConfig{
		Dial: func(context.Context) (io.ReadWriteCloser, error) {
			ours, theirs := net.Pipe()
			h.group.Go(func() { // ends with the stream
				if g, err := executor.AcceptClient(theirs, "test",
					executor.Machine{Name: "far", OS: "linux", Shell: "sh", Dir: "/"}); err == nil {
					_ = h.server.Serve(g)
				}
			})
			return ours, nil
		},
		Settle: "test", Session: "s", Epoch: h.epoch, Lease: patience, TakeOver: executor.TakeOver,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = r.Close(ctx) // a replaced host cannot end anything
	})
	return r
}

// start starts a command for a call.
func (h *hosts) start(r *executor.Remote, call, script string) *proc.Process {
	h.t.Helper()
	p, err := r.Start(h.t.Context(),
		executor.Command{Script: script, Call: call, Dir: h.t.TempDir(), Input: proc.PipeInput})
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

// done waits for the end of a command.
func done(t *testing.T, p *proc.Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}

// A command that ran when the next host connected, and that has ended since, has an ending
// and is no job.
func TestReattachEndedSince(t *testing.T) {
	h := newHosts(t)
	p := h.start(h.next(), "c", "read line; echo got $line; exit 3")
	next := h.next()
	done(t, p) // the first host knows that it was replaced
	k := executor.TakenCommands(next)[0]
	if k.Ended {
		t.Fatal("it has ended before")
	}
	if err := k.Process.Write(t.Context(), []byte("it\n")); err != nil {
		t.Fatal(err)
	}
	done(t, k.Process)
	r := newRoom(t, func(c *Config) { *c = c.On(next) })
	text, job := Reattach(t.Context(), r.jobs, k)
	if job != "" || !strings.Contains(text, "ran to its end") || !strings.Contains(text, "got it\n") ||
		!strings.Contains(text, "[exit code 3]") {
		t.Errorf("job %q, %q", job, text)
	}
}

// The executor's name of a file is not a path on this machine, and the file of the
// interrupted call stays.
func TestReattachFile(t *testing.T) {
	h := newHosts(t)
	first := h.next()
	var all []*proc.Process
	for _, call := range []string{"../outside", "call"} {
		all = append(all, h.start(first, call, "read line"))
	}
	next := h.next()
	for _, p := range all {
		done(t, p) // the first host knows that it was replaced
	}
	dir := t.TempDir()
	spool := filepath.Join(dir, "spool")
	own := filepath.Join(spool, "call.log")
	if err := os.Mkdir(spool, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRoom(t, func(c *Config) { *c = c.On(next); c.SpoolDir = spool })
	for _, k := range executor.TakenCommands(next) {
		if text, job := Reattach(t.Context(), r.jobs, k); job == "" {
			t.Errorf("%q is no job: %s", k.Call, text)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if data, err := os.ReadFile(own); string(data) != "as it was" {
		t.Errorf("%q, %v", data, err)
	}
}
