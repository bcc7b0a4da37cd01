//go:build unix

package proc

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Standalone is a further process of this program that outlives this one: in a session of
// its own, without a controlling terminal.
type Standalone struct {
	Args []string // without the program's name
	Env  []string
	// Stderr is the process's standard error.
	Stderr *os.File
}

// StandaloneProcess is a started process. The caller closes In and Out, and calls Wait or
// Release.
type StandaloneProcess struct {
	In, Out *os.File // its standard input and output
	cmd     *exec.Cmd
}

// Start starts the process.
func (p Standalone) Start() (_ *StandaloneProcess, err error) {
	program := "/proc/self/exe" // this program, even after an upgrade on disk
	if runtime.GOOS != "linux" {
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("cannot find this program: %w", err)
		}
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	out, stdout, err := os.Pipe()
	if err != nil {
		_ = in.Close() // nothing was written
		return nil, err
	}
	defer stdout.Close()
	cmd := &exec.Cmd{
		Path: program, Args: append([]string{os.Args[0]}, p.Args...), Env: p.Env,
		Stdin: stdin, Stdout: stdout, Stderr: p.Stderr, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		_, _ = in.Close(), out.Close() // nothing was written
		return nil, fmt.Errorf("cannot start a process for the session: %w", err)
	}
	return &StandaloneProcess{in, out, cmd}, nil
}

// Terminate asks the process to end.
func (p *StandaloneProcess) Terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) } // it may have ended

// Kill ends the process at once.
func (p *StandaloneProcess) Kill() { _ = p.cmd.Process.Kill() } // it may have ended

// Wait waits for the end of the process, and returns how it ended.
func (p *StandaloneProcess) Wait() error { return p.cmd.Wait() }

// Release lets the process outlive this one.
func (p *StandaloneProcess) Release() error { return p.cmd.Process.Release() }
