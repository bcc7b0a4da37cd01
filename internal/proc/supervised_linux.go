package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/sandbox"
)

const (
	// startTimeout bounds the start of a supervisor and of its command.
	startTimeout = 10 * time.Second
	// stuckTimeout is the time beyond the grace after which the host kills a supervisor and ends
	// the processes itself. It exceeds the time that a supervisor waits for a process that hangs
	// in the kernel.
	stuckTimeout = 2 * time.Second

	selfExe = "/proc/self/exe" // this program, even after an upgrade on disk
)

func start(ctx context.Context, spec Spec) (*Process, error) {
	if !canSupervise() {
		return startGroup(spec)
	}
	return startSupervised(ctx, spec)
}

func canSupervise() bool {
	if !host.supervised.Load() {
		return false
	}
	_, err := os.Stat(selfExe)
	return err == nil
}

// supervisedProcess is the host's side of a supervisor.
type supervisedProcess struct {
	p      *Process
	cmd    *exec.Cmd
	socket *os.File
	in     *lines
	from   *receiver
	marker string

	released chan error // the result of release

	mu       sync.Mutex
	stuck    *time.Timer // the watchdog, once End has been called
	deadline time.Time   // when it fires
}

func startSupervised(ctx context.Context, spec Spec) (*Process, error) {
	path, err := spec.program()
	if err != nil {
		return nil, err
	}
	std, err := openFiles(spec)
	if err != nil {
		return nil, err
	}
	defer std.closeTheirs()
	host.starts.RLock()
	defer host.starts.RUnlock()
	k, err := forkSupervisor(spec, std)
	if err != nil {
		std.closeOurs()
		return nil, err
	}
	env, marker := withMarker(spec.Env, spec.Marker)
	k.marker = marker
	pid, err := k.begin(ctx, order{Start: &startOrder{
		Path: path, Argv: spec.Argv, Dir: spec.Dir, RealDir: spec.RealDir, Env: env,
		Terminal: spec.Terminal != nil, KeepRest: spec.Rest == KeepRest, GraceMS: spec.grace().Milliseconds(),
		Awake: host.awake.Load(), Sandbox: spec.Sandbox, Confirm: spec.Sandbox != nil && spec.Confirm != nil,
	}}, spec.Confirm)
	if err != nil {
		std.closeOurs()
		return nil, err
	}
	if err := k.passProxyListener(spec); err != nil {
		k.discard()
		std.closeOurs()
		return nil, err
	}
	k.p = newProcess()
	k.p.pid, k.p.mark, k.p.keep = pid, k.marker, k
	std.attach(k.p, spec)
	addKeeper(k)
	go k.watch() // ends with the supervisor; Done waits for it
	return k.p, nil
}

// forkSupervisor starts the supervisor without its command.
func forkSupervisor(spec Spec, std *files) (*supervisedProcess, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("cannot open a socket: %w", err)
	}
	defer theirs.Close()
	cmd := &exec.Cmd{
		Path: selfExe, Args: []string{supervisorName}, Dir: "/",
		// A supervisor has the work of one thread, and its heap needs no collection.
		Env:        []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=16MiB"},
		ExtraFiles: []*os.File{theirs, std.stdin, std.stdout, std.stderr},
		// A command can stop its supervisor; the death of the host then wakes it.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT},
	}
	namespaces(cmd, spec.Sandbox)
	if spec.Lock != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, spec.Lock)
	}
	err = spawn(func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		if err := mapUser(cmd); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("cannot start a supervisor: %w", err)
	}
	k := &supervisedProcess{cmd: cmd, socket: ours, from: &receiver{fd: -1}, released: make(chan error, 1)}
	k.in = &lines{receive: k.receive}
	return k, nil
}

// receive reads a report of the supervisor and the descriptors that accompany it.
func (k *supervisedProcess) receive(buf []byte) (n int, err error) {
	raw, err := k.socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		k.from.fd = int(fd)
		n, failed = k.from.receive(buf)
		return !errors.Is(failed, unix.EAGAIN)
	})
	return n, cmp.Or(err, failed)
}

// passProxyListener passes on the socket at which the command expects its proxy, or closes it.
func (k *supervisedProcess) passProxyListener(spec Spec) error {
	listeners := k.from.foreign
	k.from.foreign = nil
	if spec.Sandbox == nil || !spec.Sandbox.OwnNetwork || spec.Sandbox.Network != sandbox.Proxied ||
		spec.ProxyListener == nil {
		for _, fd := range listeners {
			_ = unix.Close(fd)
		}
		return nil
	}
	if len(listeners) != 1 {
		return errors.New("the supervisor has opened no socket for the proxy")
	}
	spec.ProxyListener(os.NewFile(uintptr(listeners[0]), "proxy listener"))
	return nil
}

// inUserNamespace lets a supervisor mount for its command, without other privileges.
func inUserNamespace(attr *syscall.SysProcAttr) {
	attr.Cloneflags = unix.CLONE_NEWUSER
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
}

func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		_ = unix.Close(fds[0])
		_ = unix.Close(fds[1])
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "supervisor"), os.NewFile(uintptr(fds[1]), "host"), nil
}

// begin sends the start order and waits until the command has started. If it fails, the
// supervisor has ended.
func (k *supervisedProcess) begin(ctx context.Context, first order, confirm func() error) (pid int, err error) {
	_ = k.socket.SetDeadline(time.Now().Add(startTimeout))
	stop := context.AfterFunc(ctx, func() { _ = k.socket.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			k.discard()
		}
	}()
	answer, err := k.ask(ctx, first)
	if err == nil && answer.Confined != nil && confirm != nil {
		if err := confirm(); err != nil {
			return 0, err
		}
		_ = k.socket.SetDeadline(time.Now().Add(startTimeout)) // the search took its time
		answer, err = k.ask(ctx, order{Confirm: &struct{}{}})
	}
	if err != nil {
		return 0, err
	}
	_ = k.socket.SetDeadline(time.Time{})
	switch {
	case answer.Failed != nil && answer.Failed.Changed != "":
		return 0, &sandbox.ChangedError{Path: answer.Failed.Changed}
	case answer.Failed != nil:
		return 0, errors.New(answer.Failed.Message)
	case answer.Started == nil:
		return 0, errors.New("the supervisor sent an invalid answer")
	}
	return answer.Started.PID, nil
}

// ask sends an order and returns the answer, or the cause of a context that has ended.
func (k *supervisedProcess) ask(ctx context.Context, o order) (answer report, err error) {
	if ctx.Err() != nil {
		return answer, context.Cause(ctx)
	}
	if err := k.send(o, nil); err != nil {
		return answer, err
	}
	if err := k.in.next(&answer); err != nil {
		if ctx.Err() != nil {
			return answer, context.Cause(ctx)
		}
		return answer, fmt.Errorf("the supervisor did not answer: %w", err)
	}
	return answer, nil
}

// discard ends a supervisor without a command, or one whose start failed: the supervisor ends
// all processes when its socket closes.
func (k *supervisedProcess) discard() {
	_ = k.socket.Close()
	timer := time.AfterFunc(stuckTimeout, func() { _ = k.cmd.Process.Kill() })
	defer timer.Stop()
	_ = k.cmd.Wait()
	forget(k.cmd.Process.Pid)
	endOrphans(k.marker, k.cmd.Process.Pid)
}

func (k *supervisedProcess) send(o order, file *os.File) error {
	line, err := encodeMessage(o)
	if err != nil {
		return err
	}
	if file == nil {
		_, err = k.socket.Write(line)
		return err
	}
	foreign, err := file.SyscallConn()
	if err != nil {
		return err
	}
	failed := foreign.Control(func(fd uintptr) { err = k.sendWith(line, int(fd)) })
	return errors.Join(failed, err)
}

// sendWith sends a short message together with a descriptor.
func (k *supervisedProcess) sendWith(line []byte, fd int) error {
	raw, err := k.socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(socket uintptr) bool {
		failed = unix.Sendmsg(int(socket), line, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
		return !errors.Is(failed, unix.EAGAIN)
	})
	return errors.Join(err, failed)
}

// watch receives the reports until the supervisor ends. It alone decides when the process has
// ended.
func (k *supervisedProcess) watch() {
	var last *goneReport
	released := false
	for {
		var r report
		if err := k.in.next(&r); err != nil {
			break
		}
		switch {
		case r.Exited != nil:
			k.p.commandExited(
				Exit{Code: r.Exited.Code, Signal: r.Exited.Signal, Lost: r.Exited.Code < 0}, r.Exited.Rest,
			)
		case r.Failed != nil:
			k.answer(errors.New(r.Failed.Message))
		case r.TreeEnded != nil:
			last = r.TreeEnded
		case r.Released != nil:
			released = true
		case r.Woke != nil:
			k.p.wakes.Add(1)
		}
		if released || last != nil {
			break
		}
	}
	removeKeeper(k)
	if released {
		k.detach()
		return
	}
	k.conclude(last)
}

func (k *supervisedProcess) conclude(last *goneReport) {
	if last == nil {
		_ = k.cmd.Process.Kill() // its socket is broken
	}
	_ = k.cmd.Wait()
	forget(k.cmd.Process.Pid)
	_ = k.socket.Close()
	var survivors []event.Process
	if last != nil {
		survivors, k.p.endRequested = last.Survivors, last.EndRequested
	} else {
		survivors = endOrphans(k.marker, k.cmd.Process.Pid)
	}
	k.disarm()
	k.p.treeGone(survivors)
	k.answer(errors.New("it is gone"))
}

// answer passes the result to release, if release waits.
func (k *supervisedProcess) answer(err error) {
	select {
	case k.released <- err:
	default:
	}
}

// detach leaves the supervisor to the released processes.
func (k *supervisedProcess) detach() {
	untrack := releaseCommand(k.marker, k.cmd.Process.Pid)
	go func() { // ends with the released processes, or with this process
		_ = k.cmd.Wait()
		untrack()
		forget(k.cmd.Process.Pid)
	}()
	_ = k.socket.Close()
	_ = k.p.out.src.Close()
	k.disarm()
	k.p.treeGone(nil)
	k.answer(nil)
}

// end sends the order to the supervisor, which a command may have stopped, and starts the
// watchdog. The watchdog kills a supervisor that starves or is stopped again; watch then ends
// the processes.
func (k *supervisedProcess) end(grace time.Duration) {
	k.arm(grace + stuckTimeout)
	_ = k.cmd.Process.Signal(unix.SIGCONT)
	_ = k.socket.SetWriteDeadline(time.Now().Add(stuckTimeout))
	_ = k.send(order{End: &endOrder{GraceMS: grace.Milliseconds()}}, nil)
}

func (k *supervisedProcess) interrupt() {
	_ = k.cmd.Process.Signal(unix.SIGCONT) // a command can have stopped it
	_ = k.socket.SetWriteDeadline(time.Now().Add(stuckTimeout))
	_ = k.send(order{Interrupt: &struct{}{}}, nil) // a supervisor that has ended has no command
}

func (k *supervisedProcess) arm(wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	deadline := time.Now().Add(wait)
	switch {
	case k.stuck == nil:
		k.stuck = time.AfterFunc(wait, func() { _ = k.cmd.Process.Kill() })
	case deadline.Before(k.deadline):
		k.stuck.Reset(wait)
	default:
		return
	}
	k.deadline = deadline
}

func (k *supervisedProcess) disarm() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stuck != nil {
		k.stuck.Stop()
	}
}

func (k *supervisedProcess) release(out *os.File, log Log) error {
	if err := k.send(order{Release: &releaseOrder{Log: log}}, out); err != nil {
		return err
	}
	select {
	case err := <-k.released:
		return err
	case <-time.After(startTimeout):
		return errors.New("the supervisor did not answer")
	}
}

func (k *supervisedProcess) remains() []event.Process {
	return describe(
		withoutZombies(descendants(k.cmd.Process.Pid)), func(node) string { return "it is still being ended" },
	)
}
