package proc

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/sandbox"
)

// settleDelay is the time that processes left by the command have to end by themselves before
// the exit reports them.
const settleDelay = 30 * time.Millisecond

// settleTimeout bounds the search for a nameable process among the remaining ones.
const settleTimeout = 100 * time.Millisecond

// RunAsSupervisor lets this program start supervisors. Main calls it first: in a supervisor it
// never returns, elsewhere it returns at once.
func RunAsSupervisor() {
	host.supervised.Store(true)
	if len(os.Args) == 3 && os.Args[0] == selfExe && os.Args[1] == sandbox.ProbeName {
		syscall.Exit(sandbox.RunProbe(os.Args[2]))
	}
	if len(os.Args) == 4 && os.Args[1] == sandbox.ConnectName {
		syscall.Exit(sandbox.RunConnect(os.Getenv("ALL_PROXY"), os.Args[2], os.Args[3]))
	}
	if len(os.Args) == 0 || os.Args[0] != supervisorName || !isSocket(supervisorSocket) {
		return
	}
	syscall.Exit(runSupervisor()) // no exit handlers are needed, and the race detector would wait for a second
}

func isSocket(fd int) bool {
	var stat unix.Stat_t
	return unix.Fstat(fd, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFSOCK
}

// supervisor watches one command and its descendants. One goroutine on the main thread does all
// the work, because the command dies with the thread that started it.
type supervisor struct {
	socket   int
	lock     int       // descriptor of the session's lock, or -1
	host     int       // pid of a host to wake, or 0
	paused   bool      // the host is stopped on purpose
	stopped  time.Time // since when the host is stopped involuntarily
	keepRest bool
	grace    time.Duration

	command      int // pid; 0 once it has been reaped
	exit         exitedReport
	exitReported bool // the host has received the exit
	settled      time.Time
	termination  termination
	signalled    bool            // a signal started the termination, not the host
	logged       <-chan struct{} // set after Release: the end of the host has no effect
}

func runSupervisor() int {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	_ = os.WriteFile("/proc/self/comm", []byte(supervisorName), 0) // for readers of ps
	inheritNothing()

	// Handled signals get their default action again in the command; ignored signals would stay
	// ignored.
	died, signals := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGPIPE)

	self := ownPID()
	w := &supervisor{socket: supervisorSocket, lock: -1}
	w.termination = termination{at: idle, tree: func() []node { return descendants(self) }}
	from := &receiver{fd: w.socket}
	in := &lines{receive: from.receive}
	awaitOrder(w.socket)
	_ = Seclude() // before it receives the command's secrets: the command must not take it over
	var first order
	if err := in.next(&first); err != nil || first.Start == nil {
		return 1
	}
	if err := w.start(first.Start, in); err != nil {
		failed := &failedReport{Message: err.Error()}
		if changed := (*sandbox.ChangedError)(nil); errors.As(err, &changed) {
			failed.Changed = changed.Path
		}
		w.tell(report{Failed: failed})
		return 1
	}
	orders := make(chan delivery)
	go listen(in, from, orders) // ends with the socket, or with the process
	w.watch(died, signals, orders)
	return 0
}

// delivery is an order with the descriptors that came with it.
type delivery struct {
	order
	files []int
}

func listen(in *lines, from *receiver, orders chan<- delivery) {
	defer close(orders)
	for {
		var next delivery
		if err := in.next(&next.order); err != nil {
			return
		}
		next.files, from.foreign = from.foreign, nil
		orders <- next // watch receives until the supervisor exits
	}
}

// inheritNothing marks all descriptors as close-on-exec, including descriptors that settle itself
// inherited.
func inheritNothing() {
	if unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	for fd := 3; fd < 1024; fd++ { // before Linux 5.11
		unix.CloseOnExec(fd)
	}
}

func (w *supervisor) start(o *startOrder, in *lines) error {
	w.keepRest, w.grace = o.KeepRest, time.Duration(o.GraceMS)*time.Millisecond
	if o.Awake {
		w.host = os.Getppid()
	}
	attr := &syscall.ProcAttr{
		Dir: o.Dir, Env: o.Env,
		Files: []uintptr{supervisorStdin, supervisorStdout, supervisorStderr},
		Sys: &syscall.SysProcAttr{
			Setpgid: !o.Terminal, Setsid: o.Terminal, Setctty: o.Terminal,
			Pdeathsig: syscall.SIGKILL,
		},
	}
	child := fork(o, attr, func() error { return w.confirm(o, in) })
	if child.err != nil {
		return explainStart(o, child.err)
	}
	for _, fd := range []int{supervisorStdin, supervisorStdout, supervisorStderr} {
		_ = unix.Close(fd)
	}
	if isOpen(supervisorLock) {
		w.lock = supervisorLock
	}
	w.command = child.pid
	seen := child.pid
	if inNamespace() {
		var err error
		if seen, err = outerPID(child.pid); err != nil {
			return err
		}
	}
	w.sendReport(report{Started: &startedReport{PID: seen}}, child.proxyListener)
	if child.proxyListener >= 0 {
		_ = unix.Close(child.proxyListener)
	}
	return nil
}

// confirm waits for the host to confirm the start of a command that is confined.
func (w *supervisor) confirm(o *startOrder, in *lines) error {
	if !o.Confirm {
		return nil
	}
	w.tell(report{Confined: &struct{}{}})
	var next order
	if err := in.next(&next); err != nil {
		return err
	}
	if next.Confirm == nil {
		return errors.New("cannot start the command: its host did not confirm the start")
	}
	return nil
}

// child is the result of fork. proxyListener is the socket at which the command expects its
// proxy, or -1.
type child struct {
	pid, proxyListener int
	err                error
}

// fork starts the command. A sandboxed command starts from a thread of its own, which the
// sandbox confines and which the command inherits; the supervisor stays unconfined. The thread
// stays, because the command dies with it.
func fork(o *startOrder, attr *syscall.ProcAttr, confirm func() error) child {
	if o.Sandbox == nil {
		leave, err := enterDir(o, attr)
		if err != nil {
			return child{0, -1, err}
		}
		defer leave()
		pid, err := syscall.ForkExec(o.Path, o.Argv, attr)
		return child{pid, -1, err}
	}
	if o.Sandbox.OwnProcesses {
		scatter()
	}
	confined, confirmed, started := make(chan struct{}), make(chan struct{}), make(chan child)
	go func() { // ends with the supervisor
		runtime.LockOSThread()
		var c child
		if c.proxyListener, c.err = sandbox.Enter(*o.Sandbox); c.err != nil {
			c.err = fmt.Errorf("cannot confine the command: %w", c.err)
		} else {
			confined <- struct{}{}
			<-confirmed // or the process ends
			attr.Files[0] = nullInside(attr.Files[0])
			c.pid, c.err = syscall.ForkExec(o.Path, o.Argv, attr)
		}
		started <- c
		select {}
	}()
	select { // a start takes a few system calls
	case c := <-started:
		return c
	case <-confined:
	}
	if err := confirm(); err != nil {
		return child{0, -1, err}
	}
	close(confirmed)
	return <-started
}

// nullInside replaces the null device by the null device in the command's view of the files:
// through a descriptor from outside, root could change the mode of the machine's device.
func nullInside(input uintptr) uintptr {
	var stat unix.Stat_t
	if unix.Fstat(int(input), &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFCHR || stat.Rdev != unix.Mkdev(1, 3) {
		return input
	}
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return input
	}
	return uintptr(fd)
}

// enterDir lets the command start in the directory of the order if the path has no link. The
// supervisor itself enters the directory, which the command inherits; leave undoes that. A
// sandboxed command enters by name instead, because a link leads only to paths that the sandbox
// allows.
func enterDir(o *startOrder, attr *syscall.ProcAttr) (leave func(), err error) {
	if !o.RealDir {
		return func() {}, nil
	}
	d, err := disk.OpenDir(o.Dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if err := d.Enter(); err != nil {
		return nil, err
	}
	attr.Dir = ""
	return func() { _ = unix.Chdir("/") }, nil // the root always exists
}

// explainStart reports whether the directory or the program caused the error.
func explainStart(o *startOrder, err error) error {
	if changed := (*disk.ChangedError)(nil); errors.As(err, &changed) {
		return err
	}
	if o.Dir != "" {
		if stat, failed := os.Stat(o.Dir); failed != nil {
			return fmt.Errorf("cannot use directory %q: %w", o.Dir, failed)
		} else if !stat.IsDir() {
			return fmt.Errorf("cannot use directory %q: it is not one", o.Dir)
		}
	}
	return err
}

func isOpen(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil
}

// watch is the main loop of the supervisor. It ends when the last descendant has ended.
func (w *supervisor) watch(died, signals <-chan os.Signal, orders <-chan delivery) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		alone := w.reap()
		wait := w.advance(time.Now(), alone)
		if w.exitReported && (alone || w.termination.at == gaveUp) {
			w.wakeHost() // no process is left that could stop the host again
			w.tell(report{TreeEnded: &goneReport{Survivors: w.termination.left, EndRequested: w.signalled}})
			w.finishLog()
			return
		}
		if wait <= 0 {
			wait = time.Hour
		}
		if w.host != 0 {
			w.watchHost(time.Now())
			wait = min(wait, wakeDelay/2)
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-died:
		case sig := <-signals:
			if sig == unix.SIGTERM {
				w.signalled = w.signalled || w.termination.at == idle
				w.termination.begin(time.Now(), w.grace)
			}
		case next, ok := <-orders:
			if !ok {
				orders = nil
				w.hostDied()
				continue
			}
			w.handleOrder(next)
		}
	}
}

// reap collects the dead children. It reports true if no child is left: then there are no
// descendants, because orphans become children.
func (w *supervisor) reap() (alone bool) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			return true
		case err != nil || pid <= 0:
			return false
		case pid == w.command:
			w.command = 0
			w.exit = exitedReport{Code: status.ExitStatus()}
			if status.Signaled() {
				w.exit = exitedReport{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
			}
			w.settled = time.Now().Add(settleDelay)
		}
	}
}

// advance takes the next due step and returns the time until the following one; 0 for never.
func (w *supervisor) advance(now time.Time, alone bool) time.Duration {
	if w.command == 0 && !w.exitReported {
		switch {
		case alone:
			w.reportExit(nil)
		case w.termination.at != idle:
			w.reportExit(nil)
		case !w.keepRest:
			w.reportExit(nil)
			w.termination.begin(now, w.grace)
		case now.Before(w.settled):
			return w.settled.Sub(now)
		default:
			rest := withoutZombies(w.termination.tree())
			if len(rest) == 0 && now.Before(w.settled.Add(settleTimeout)) {
				return killDelay // the processes fork and die faster than /proc can be read
			}
			w.reportExit(nameRest(rest))
		}
	}
	if alone {
		return 0
	}
	wait := w.termination.step(now)
	if w.termination.at == gaveUp && !w.exitReported {
		w.exit = exitedReport{Code: -1}
		w.reportExit(nil) // the command itself cannot be ended
	}
	return wait
}

// nameRest names the remaining processes. The result is never empty.
func nameRest(rest []node) []event.Process {
	if len(rest) == 0 {
		return []event.Process{{PID: ownPID(), Command: "(processes that come and go)"}}
	}
	return describe(rest, noReason)
}

func (w *supervisor) reportExit(rest []event.Process) {
	w.wakeHost() // before the report, so that the call's result follows the wake-up
	w.exitReported = true
	w.exit.Rest = rest
	w.tell(report{Exited: &w.exit})
}

func (w *supervisor) hostDied() {
	if w.logged == nil {
		w.termination.begin(time.Now(), w.grace)
	}
}

func (w *supervisor) handleOrder(next delivery) {
	switch {
	case next.End != nil:
		w.termination.begin(time.Now(), time.Duration(next.End.GraceMS)*time.Millisecond)
	case next.Release != nil:
		w.release(next)
	case next.Interrupt != nil && w.command != 0: // not reaped, so that the number is still valid
		_ = unix.Kill(-w.command, unix.SIGINT)
	case next.Pause != nil:
		w.paused = next.Pause.Paused
	}
}

// release detaches the supervisor from the session. It stays until the released processes end,
// and writes their log instead of the host.
func (w *supervisor) release(next delivery) {
	if len(next.files) != 1 {
		w.tell(report{Failed: &failedReport{Message: "the output did not come along"}})
		return
	}
	logged, err := writeLog(next.files[0], next.Release.Log)
	if err != nil {
		w.tell(report{Failed: &failedReport{Message: err.Error()}})
		return
	}
	w.logged, w.keepRest = logged, true
	if w.lock >= 0 {
		_ = unix.Close(w.lock)
	}
	w.tell(report{Released: &struct{}{}})
}

// finishLog waits for the last output of released processes, at most one second, because a
// surviving process can hold the pipe.
func (w *supervisor) finishLog() {
	if w.logged == nil {
		return
	}
	select {
	case <-w.logged:
	case <-time.After(time.Second):
	}
}

// tell sends a report to the host, if the host is alive.
func (w *supervisor) tell(r report) { w.sendReport(r, -1) }

// sendReport also sends a descriptor, unless fd is negative.
func (w *supervisor) sendReport(r report, fd int) {
	line, err := encodeMessage(r)
	if err != nil {
		return
	}
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	for len(line) > 0 {
		n, err := unix.SendmsgN(w.socket, line, rights, nil, unix.MSG_NOSIGNAL)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if n > 0 {
			line, rights = line[n:], nil
		}
	}
}
