//go:build unix

package proc

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Standalone is a further process of this program that outlives this one: in a session of
// its own, without a controlling terminal.
type Standalone struct {
	Args []string // without the program's name
	Env  []string
	// Stderr is the process's standard error.
	Stderr *os.File
}

// StandaloneProcess is a started process. The caller closes In, Out and Conn, and calls Wait or
// Release.
type StandaloneProcess struct {
	In, Out *os.File // its standard input and output; nil after StartConnected
	Conn    net.Conn // to its standard input; nil after Start
	cmd     *exec.Cmd
}

// StartConnected starts the process with a connection at its standard input, which no other
// process has or can open. Its standard output is Stderr.
func (p Standalone) StartConnected() (_ *StandaloneProcess, err error) {
	here, there, err := connectedSockets()
	if err != nil {
		return nil, fmt.Errorf("cannot make a connection: %w", err)
	}
	defer there.Close()
	defer here.Close() // FileConn copies it
	conn, err := net.FileConn(here)
	if err != nil {
		return nil, fmt.Errorf("cannot make a connection: %w", err)
	}
	cmd, err := p.start(there, p.Stderr)
	if err != nil {
		_ = conn.Close() // nothing was written
		return nil, err
	}
	return &StandaloneProcess{Conn: conn, cmd: cmd}, nil
}

// connectedSockets returns two connected sockets, which no other program inherits.
func connectedSockets() (a, b *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	unix.CloseOnExec(pair[0])
	unix.CloseOnExec(pair[1])
	return os.NewFile(uintptr(pair[0]), "host"), os.NewFile(uintptr(pair[1]), "terminal"), nil
}

// Start starts the process.
func (p Standalone) Start() (_ *StandaloneProcess, err error) {
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
	cmd, err := p.start(stdin, stdout)
	if err != nil {
		_, _ = in.Close(), out.Close() // nothing was written
		return nil, err
	}
	return &StandaloneProcess{In: in, Out: out, cmd: cmd}, nil
}

// start starts the process with its standard input and output.
func (p Standalone) start(stdin, stdout *os.File) (cmd *exec.Cmd, err error) {
	program := "/proc/self/exe" // this program, even after an upgrade on disk
	if runtime.GOOS != "linux" {
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("cannot find this program: %w", err)
		}
	}
	cmd = &exec.Cmd{
		Path: program, Args: append([]string{os.Args[0]}, p.Args...), Env: p.Env,
		Stdin: stdin, Stdout: stdout, Stderr: p.Stderr, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = spawnStandalone(func() (int, error) { // so that a reaper of orphans leaves it to Wait
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot start a process for the session: %w", err)
	}
	return cmd, nil
}

// Terminate asks the process to end.
func (p *StandaloneProcess) Terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) } // it may have ended

// Kill ends the process at once.
func (p *StandaloneProcess) Kill() { _ = p.cmd.Process.Kill() } // it may have ended

// Wait waits for the end of the process. The error describes the end.
func (p *StandaloneProcess) Wait() error {
	defer forget(p.cmd.Process.Pid)
	return p.cmd.Wait()
}

// Release lets the process outlive this one.
func (p *StandaloneProcess) Release() error { return p.cmd.Process.Release() }

// ShowName shows this process as settle in lists of processes, even if it was started as
// /proc/self/exe.
func ShowName() {
	_ = os.WriteFile("/proc/self/comm", []byte("settle"), 0) // other systems show the program's name
}
