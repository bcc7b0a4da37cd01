package temporaldev

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	program = "settle-fleet-temporal"
	// ProgramVar names the program where it is not in the PATH.
	ProgramVar = "SETTLE_FLEET_TEMPORAL"
	// startTimeout bounds the start, stopTimeout the end before the server is killed.
	startTimeout, stopTimeout = time.Minute, 15 * time.Second
)

// Options say how to start a server.
type Options struct {
	// Program is the server's; "" means settle-fleet-temporal, beside this program or
	// in the PATH.
	Program string
	// File is where it keeps its state; "" keeps it in memory.
	File string
	// Port is the one that it listens on; 0 is a free one.
	Port int
	// Namespace is made; "" means default.
	Namespace string
}

// Server is a server that this process has started.
type Server struct {
	// Address is its HOST:PORT.
	Address string

	cmd    *exec.Cmd
	stdin  io.Closer // its end ends the server
	stderr bytes.Buffer
	exited chan struct{} // closed when it has ended
}

// Start starts a server and waits until it is ready.
func Start(ctx context.Context, o Options) (*Server, error) {
	path, err := find(o.Program)
	if err != nil {
		return nil, err
	}
	var args []string
	for flag, value := range map[string]string{"--db": o.File, "--namespace": o.Namespace} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	if o.Port != 0 {
		args = append(args, "--port", fmt.Sprint(o.Port))
	}
	s := &Server{cmd: exec.Command(path, args...), exited: make(chan struct{})}
	s.cmd.Stderr = &s.stderr
	separate(s.cmd)
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start Temporal: %w", err)
	}
	line := make(chan string, 1)
	// It ends with the server; Stop waits for it.
	go func() {
		defer close(s.exited)
		first, _ := bufio.NewReader(stdout).ReadString('\n')
		line <- strings.TrimSpace(first)
		_ = s.cmd.Wait() // which closes stdout
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case s.Address = <-line:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if s.Address == "" {
		s.Stop()
		return nil, fmt.Errorf(
			"temporal does not start: %w\n%s", errors.Join(err, errEnded), bytes.TrimSpace(s.stderr.Bytes()),
		)
	}
	return s, nil
}

var errEnded = errors.New("it has ended")

// find returns the path of the server's program.
func find(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), program)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf(
			"there is no %s: build it with go -C fleet/cmd/%s install ., name it in $%s, or name a server with --temporal",
			program, program, ProgramVar,
		)
	}
	return path, nil
}

// Process is the server's.
func (s *Server) Process() *os.Process { return s.cmd.Process }

// Exited is closed when the server has ended.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Stop ends the server and waits for that.
func (s *Server) Stop() {
	_ = s.stdin.Close()
	kill := time.NewTimer(stopTimeout)
	defer kill.Stop()
	select {
	case <-s.exited:
	case <-kill.C:
		_ = s.cmd.Process.Kill()
		<-s.exited // a process that was killed ends
	}
}
