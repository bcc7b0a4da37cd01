package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/settle-agent/settle/event"
)

// keptByJob tracks a command with a job object, which ends with its last handle and therefore
// with this process.
type keptByJob struct {
	p    *Process
	cmd  *exec.Cmd
	spec Spec
	job  windows.Handle

	once  sync.Once
	ended chan struct{} // closed by end
}

func start(_ context.Context, spec Spec) (*Process, error) {
	path, err := spec.program()
	if err != nil {
		return nil, err
	}
	std, err := openFiles(spec)
	if err != nil {
		return nil, err
	}
	defer std.closeTheirs()
	job, err := newJob()
	if err != nil {
		std.closeOurs()
		return nil, err
	}
	k := &keptByJob{spec: spec, job: job, ended: make(chan struct{})}
	k.cmd = &exec.Cmd{
		Path: path, Args: spec.Argv, Dir: spec.Dir,
		Stdin: std.stdin, Stdout: std.stdout, Stderr: std.stderr,
		SysProcAttr: &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP},
	}
	env, marker := withMarker(spec.Env, spec.Marker)
	k.cmd.Env = env
	if err := k.launch(); err != nil {
		_ = windows.CloseHandle(job)
		std.closeOurs()
		return nil, err
	}
	k.p = newProcess()
	k.p.pid, k.p.mark, k.p.keep = k.cmd.Process.Pid, marker, k
	std.attach(k.p, spec)
	go k.watch() // ends with the command; Done waits for it
	return k.p, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("cannot create a job object: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, fmt.Errorf("cannot set up a job object: %w", err)
	}
	return job, nil
}

// launch starts the command and assigns it to the job. Processes that the command starts before
// the assignment are not in the job.
func (k *keptByJob) launch() error {
	if err := k.cmd.Start(); err != nil {
		return err
	}
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE
	handle, err := windows.OpenProcess(access, false, uint32(k.cmd.Process.Pid))
	if err == nil {
		defer windows.CloseHandle(handle)
		err = windows.AssignProcessToJobObject(k.job, handle)
	}
	if err != nil {
		_ = k.cmd.Process.Kill()
		_ = k.cmd.Wait()
		return fmt.Errorf("cannot put the command into a job object: %w", err)
	}
	return nil
}

func (k *keptByJob) watch() {
	_ = k.cmd.Wait()
	rest := k.remains()
	if k.spec.Rest != KeepRest {
		rest = nil
	}
	k.p.commandExited(Exit{Code: k.cmd.ProcessState.ExitCode()}, rest)
	if len(rest) > 0 {
		k.awaitRest()
	}
	k.end(0)
	_ = windows.CloseHandle(k.job) // end does nothing any more
	k.p.treeGone(nil)
}

// awaitRest waits until the job is empty or end is called.
func (k *keptByJob) awaitRest() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for len(k.remains()) > 0 {
		select {
		case <-tick.C:
		case <-k.ended:
			return
		}
	}
}

// end terminates the job at once: Windows has no TERM.
func (k *keptByJob) end(time.Duration) {
	k.once.Do(func() {
		close(k.ended)
		_ = windows.TerminateJobObject(k.job, 1)
	})
}

// interrupt sends Ctrl-Break: a separate process group ignores Ctrl-C.
func (k *keptByJob) interrupt() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(k.p.pid))
}

// pidList is a JOBOBJECT_BASIC_PROCESS_ID_LIST with space for its pids.
type pidList struct {
	assigned, listed uint32
	pids             [256]uintptr
}

func (k *keptByJob) remains() []event.Process {
	var list pidList
	err := windows.QueryInformationJobObject(k.job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil {
		return nil
	}
	var found []event.Process
	for _, pid := range list.pids[:min(int(list.listed), len(list.pids))] {
		found = append(found, event.Process{PID: int(pid)})
	}
	return found
}

func (k *keptByJob) release(*os.File, Log) error { return ErrCannotRelease }

// RunAsSupervisor does nothing here: job objects end with the host.
func RunAsSupervisor() {}

// BecomeReaper does nothing here.
func BecomeReaper() (stop func(), err error) { return func() {}, nil }

// Sweep finds nothing here: job objects leave no process.
func Sweep(marker string, _ ...string) ([]int, error) {
	if marker == "" {
		return nil, errors.New("cannot sweep processes: the marker is empty")
	}
	return nil, nil
}

// Tracking describes the process tracking of this system.
func Tracking() TrackingInfo {
	return TrackingInfo{Kind: Job, Weaker: []string{
		"processes are ended without a grace",
		"what a command starts in its first instant may escape",
		"processes cannot be released",
	}}
}

func (k *keptByJob) keeper() *event.Identity { return nil }

func (k *keptByJob) identityOf(int) *event.Identity { return nil }

// Marked reports whether a process lives whose environment has the marker. It is not known
// here.
func Marked(string) bool { return false }
