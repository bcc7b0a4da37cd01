//go:build linux && machine

package executor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/repo/quarantine"
	"github.com/settle-agent/settle/internal/sandbox"
)

// newExclusive returns an executor whose sandboxed commands can change a new directory.
func newExclusive(t *testing.T) (l *Local, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l = local(t)
	l.Sandbox = func(Confined) (sandbox.Policy, []string, error) {
		return sandbox.Workspace("", os.Getenv("PATH"), []string{dir}, []string{dir}), nil, nil
	}
	l.Repositories = &Repositories{
		Guard: quarantine.New(), Exclusion: new(Exclusion),
		Area: func() quarantine.Area { return quarantine.Area{Look: []string{dir}} },
	}
	t.Cleanup(func() { _ = l.Repositories.Close() }) // its findings are expected
	return l, dir
}

const plantHook = `git init -q -b main s; printf '#!/bin/sh\ntouch "%s/PLANTED"\n' "$PWD" >s/.git/hooks/pre-commit
chmod +x s/.git/hooks/pre-commit; echo ready; read line`

// Git outside of the sandbox does not run a hook that a sandboxed command of the same response makes:
// git starts when that command has ended and its files were judged.
func TestGitAloneRunsNoHookOfParallelCommand(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Logf("nothing can be confined here: %v", err)
		return
	}
	l, dir := newExclusive(t)
	sandboxed, end := startWaiting(t, l, Command{Script: plantHook, Dir: dir, Sandbox: event.Workspace})
	var out bytes.Buffer
	confirmed := make(chan bool, 1)
	started := make(chan *proc.Process, 1)
	go func() { // ends when the sandboxed command has ended
		p, err := l.Start(t.Context(), Command{
			Call: "b", Dir: dir, Output: &out,
			Script: "git -C s -c user.name=x -c user.email=x@y commit -q --allow-empty -m x",
			Alone: func() error {
				confirmed <- l.Repositories.Unsettled(t.Context())
				return nil
			},
		})
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	if err := sandboxed.Write(t.Context(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	if unsettled := <-confirmed; unsettled {
		t.Error("git starts before the sandboxed command has ended")
	}
	p := <-started
	<-p.Done()
	end()
	if exit := p.Exit(); !exit.OK() {
		t.Errorf("git: %+v: %s", exit, out.String())
	}
	if _, err := os.Lstat(filepath.Join(dir, "PLANTED")); err == nil {
		t.Error("git ran the hook of the sandboxed command")
	}
	show := exec.CommandContext(t.Context(), "git", "-C", filepath.Join(dir, "s"), "log", "--format=%s")
	log, err := show.CombinedOutput()
	if err != nil || strings.TrimSpace(string(log)) != "x" {
		t.Errorf("git log: %v: %s", err, log)
	}
}

// A job does not delay git: git is judged again, and starts only if this allows it.
func TestGitAloneDoesNotWaitForJobs(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Logf("nothing can be confined here: %v", err)
		return
	}
	l, dir := newExclusive(t)
	job, end := startWaiting(t, l, Command{Script: plantHook, Dir: dir, Sandbox: event.Workspace})
	end() // the call has returned, and the command runs on
	refusal := errors.New("a job runs")
	_, err := l.Start(t.Context(), Command{
		Call: "b", Dir: dir, Output: &bytes.Buffer{}, Script: "git -C s commit -q --allow-empty -m x",
		Alone: func() error {
			if l.Repositories.Unsettled(t.Context()) {
				return refusal
			}
			return nil
		},
	})
	if !errors.Is(err, refusal) {
		t.Errorf("git beside a job: %v", err)
	}
	if err := job.Write(t.Context(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	<-job.Done()
	if _, err := os.Lstat(filepath.Join(dir, "PLANTED")); err == nil {
		t.Error("git ran the hook of the job")
	}
}

// Git that runs on after its call, as a job, lets sandboxed commands start.
func TestGitAloneThatBecomesJobKeepsNoCommandWaiting(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Logf("nothing can be confined here: %v", err)
		return
	}
	l, dir := newExclusive(t)
	job, end := startWaiting(t, l, Command{
		Script: "echo ready; read line", Dir: dir, Alone: func() error { return nil },
	})
	end()
	sandboxed, err := l.Start(t.Context(), Command{
		Call: "b", Script: "true", Dir: dir, Output: &bytes.Buffer{}, Sandbox: event.Workspace,
	})
	if err != nil {
		t.Fatal(err)
	}
	<-sandboxed.Done()
	if err := job.Write(t.Context(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	<-job.Done()
}

// startWaiting starts a command that prints "ready" and then waits for its input. end ends the context of
// its call.
func startWaiting(t *testing.T, l *Local, c Command) (p *proc.Process, end func()) {
	t.Helper()
	ready := newReadyWriter()
	call, end := context.WithCancel(t.Context())
	c.Call, c.Input, c.Output = "a", proc.PipeInput, ready
	p, err := l.Start(call, c)
	if err != nil {
		t.Fatal(err)
	}
	<-ready.seen
	return p, end
}

// readyWriter closes seen when a command has written.
type readyWriter struct{ seen chan struct{} }

func newReadyWriter() *readyWriter { return &readyWriter{make(chan struct{})} }

func (w *readyWriter) Write(data []byte) (int, error) {
	if bytes.Contains(data, []byte("ready")) {
		close(w.seen)
	}
	return len(data), nil
}
