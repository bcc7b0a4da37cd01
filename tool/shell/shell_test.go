package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/test/setsid"
	"github.com/settle-agent/settle/modeltest/leak"
	"github.com/settle-agent/settle/tool"
)

func TestMain(m *testing.M) {
	setsid.Command()
	proc.RunAsSupervisor()
	play()
	os.Exit(leak.Run(setsid.With(m)))
}

// patience bounds a test's wait.
const patience = 30 * time.Second

// room has a session's tools for a test.
type room struct {
	t     *testing.T
	jobs  *Jobs
	tools map[string]tool.Tool
	dir   string

	silent   bool // store no progress
	calls    atomic.Int64
	mu       sync.Mutex
	progress strings.Builder
	arrival  chan struct{} // buffered for one
	started  []event.JobStarted
	ended    []event.JobEnded
}

func newRoom(t *testing.T, change func(*Config)) *room {
	t.Helper()
	r := &room{t: t, dir: t.TempDir(), tools: map[string]tool.Tool{}, arrival: make(chan struct{}, 1)}
	config := Config{
		Env:      []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir},
		SpoolDir: t.TempDir(), Marker: "test-" + t.Name(), Registry: r,
		EndTimeout: patience, // a machine that is busy with other tests
	}
	if change != nil {
		change(&config)
	}
	r.jobs = NewJobs(config)
	for _, tl := range r.jobs.Tools() {
		r.tools[tl.Spec().Name] = tl
	}
	t.Cleanup(func() { r.close() })
	return r
}

func (r *room) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if survivors, err := r.jobs.Close(ctx); err != nil || len(survivors) > 0 {
		r.t.Errorf("Close: %v, %v", survivors, err)
	}
}

// JobStarted implements Registry.
func (r *room) JobStarted(_ context.Context, job event.JobStarted) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	job.Job = fmt.Sprintf("job%d", len(r.started)+1)
	r.started = append(r.started, job)
	return job.Job, nil
}

// JobEnded implements Registry.
func (r *room) JobEnded(_ context.Context, end event.JobEnded) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, end)
	return nil
}

func (r *room) call(name string, args any) tool.Call {
	raw, err := json.Marshal(args)
	if err != nil {
		r.t.Fatal(err)
	}
	return tool.Call{
		ID: fmt.Sprintf("call%d", r.calls.Add(1)), Name: name, Args: raw, Dir: r.dir,
		Progress: func(text string) {
			if r.silent {
				return
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.progress.WriteString(text)
			select {
			case r.arrival <- struct{}{}:
			default:
			}
		},
	}
}

type object = map[string]any

func (r *room) run(ctx context.Context, name string, args object) tool.Result {
	r.t.Helper()
	result, err := r.tools[name].Run(ctx, r.call(name, args))
	if err != nil {
		r.t.Fatalf("%s %v: %v", name, args, err)
	}
	return result
}

func (r *room) sh(command string) tool.Result {
	r.t.Helper()
	return r.run(r.t.Context(), "shell", object{"command": command})
}

// awaitProgress waits for a text in the output of the calls.
func (r *room) awaitProgress(text string) {
	r.t.Helper()
	limit := time.After(patience)
	for {
		r.mu.Lock()
		got := r.progress.String()
		r.mu.Unlock()
		if strings.Contains(got, text) {
			return
		}
		select {
		case <-r.arrival:
		case <-limit:
			r.t.Errorf("no %q came: %q", text, got)
			return
		}
	}
}

func TestForeground(t *testing.T) {
	tests := []struct {
		command string
		output  string
		code    int
	}{
		{"echo hello", "hello\n", 0},
		{"true", "[no output, exit code 0]", 0},
		{"echo a; echo b >&2; echo c; exit 7", "a\nb\nc\n[exit code 7]", 7},
		{"exit 1", "[exit code 1]", 1},
		{"kill -TERM $$", "[killed by signal 15 (TERM)]", 143},
		{"printf 'no newline'", "no newline", 0},
		{"cat; echo end", "end\n", 0},
		{`printf '10%%\r20%%\r100%%\ndone\n'`, "10%\n100%\ndone\n", 0},
		{`printf 'caf\xc3'; printf '\xa9 \xff!\n'`, "café \uFFFD!\n", 0},
		{"head -c 5000 /dev/zero", "[binary output of 5000 bytes]", 0},
		{"echo $SECRET-", "-\n", 0},
	}
	r := newRoom(t, nil)
	for _, test := range tests {
		t.Run(test.command, func(t *testing.T) {
			got := r.sh(test.command)
			if got.Output != test.output {
				t.Errorf("output %q, want %q", got.Output, test.output)
			}
			if got.ExitCode == nil || *got.ExitCode != test.code {
				t.Errorf("exit code %v, want %d", got.ExitCode, test.code)
			}
			if got.Failed != (test.code != 0) || got.Aborted {
				t.Errorf("failed %v, aborted %v", got.Failed, got.Aborted)
			}
		})
	}
}

func TestWorkdir(t *testing.T) {
	r := newRoom(t, nil)
	if err := os.Mkdir(r.dir+"/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	got := r.run(t.Context(), "shell", object{"command": "pwd", "workdir": "sub"})
	if want := r.dir + "/sub\n"; got.Output != want {
		t.Errorf("output %q, want %q", got.Output, want)
	}
	_, err := r.tools["shell"].Run(t.Context(), r.call("shell", object{"command": "pwd", "workdir": "none"}))
	if err == nil || !strings.Contains(err.Error(), `cannot run in "none"`) {
		t.Errorf("a missing directory: %v", err)
	}
}

func TestTimeout(t *testing.T) {
	r := newRoom(t, nil)
	got := r.run(t.Context(), "shell", object{"command": "echo begun; sleep 1000", "timeout_ms": 300})
	if !got.Failed || got.Aborted || !strings.HasPrefix(got.Output, "begun\n[timed out after 300ms") {
		t.Errorf("got %+v", got)
	}
}

// C7, C9: an interrupt keeps the output, and no process runs afterwards.
func TestInterrupt(t *testing.T) {
	r := newRoom(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends with the output, or the test's timeout
		r.awaitProgress("begun")
		cancel(errors.New("interrupted"))
	}()
	got := r.run(ctx, "shell", object{"command": "trap '' TERM INT HUP; echo begun; (setsid sleep 1000 &); sleep 1000"})
	if !got.Aborted || got.Output != "begun\n" || len(got.Survivors) > 0 {
		t.Errorf("got %+v", got)
	}
	if left, err := proc.Sweep("test-" + t.Name()); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}
