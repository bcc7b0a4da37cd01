package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/disk"
)

// runSandboxed is the test's binary in a sandbox: it executes its arguments, or tries the
// system calls by itself.
func runSandboxed() {
	runtime.LockOSThread()
	var p Policy
	if err := json.Unmarshal([]byte(os.Args[2]), &p); err != nil {
		panic(err)
	}
	if p.Read != nil {
		if _, err := Enter(p); err != nil {
			panic(err)
		}
	}
	if os.Args[3] == "system calls" {
		trySystemCalls()
		os.Exit(0)
	}
	panic(syscall.Exec(os.Args[3], os.Args[3:], []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}))
}

// confines reports whether commands can be confined here. C22: if they cannot, no command may seem
// confined.
func confines(t *testing.T) bool {
	t.Helper()
	missing := Check()
	if missing == nil {
		return true
	}
	t.Log(missing)
	if _, err := Enter(Policy{}); err == nil {
		t.Errorf("Check says %v, and Enter succeeds", missing)
	}
	return false
}

// run runs a command in a sandbox, or, without a policy, outside of one.
func run(t *testing.T, p *Policy, dir string, argv ...string) (string, error) {
	t.Helper()
	if p == nil {
		p = &Policy{}
	}
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{sandboxedArg, string(raw)}, argv...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// world is a workspace with a neighbour.
func world(t *testing.T) (work, outside string) {
	t.Helper()
	top := t.TempDir()
	work, outside = filepath.Join(top, "work"), filepath.Join(top, "outside")
	for path, content := range map[string]string{
		"work/file": "inside\n", "work/run.sh": "#!/bin/sh\necho ran\n", "outside/secret": "hidden\n",
	} {
		path = filepath.Join(top, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	return work, outside
}

// snapshot is all that a command could have changed.
func snapshot(t *testing.T, dirs ...string) string {
	t.Helper()
	var all []string
	for _, dir := range dirs {
		err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			var content []byte
			if info.Mode().IsRegular() {
				content, _ = os.ReadFile(path)
			}
			st := info.Sys().(*syscall.Stat_t)
			all = append(all, fmt.Sprint(path, info.Mode(), st.Uid, st.Nlink, info.ModTime(), string(content)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(all, "\n")
}

// Operations that reading needs work in the sandbox.
func TestReads(t *testing.T) {
	if !confines(t) {
		return
	}
	work, _ := world(t)
	p := ReadOnly(os.Getenv("HOME"), os.Getenv("PATH"), work)
	for script, want := range map[string]string{
		"cat file":                             "inside",
		"ls | wc -l":                           "3",
		"./run.sh":                             "ran",
		"echo x >/dev/null && echo fine":       "fine",
		"cat <&0 >/dev/null; head -c 3 file":   "ins",
		"ls /usr/bin >/dev/null && echo seen":  "seen",
		"id -u >/dev/null && echo known":       "known",
		"(sleep 0; kill -0 $$) && echo itself": "itself",
		"cat /proc/self/comm":                  "cat",
	} {
		if out, err := run(t, &p, work, "/bin/sh", "-c", script); err != nil || strings.TrimSpace(out) != want {
			t.Errorf("%s: %v, %q, want %q", script, err, out, want)
		}
	}
}

// Operations that change or show something outside of the policy work without the sandbox, and have
// no effect within.
func TestEscapes(t *testing.T) {
	if !confines(t) {
		return
	}
	for _, script := range []string{
		"echo x >file", "echo x >>file", "echo x >new", "rm file", "mv file other", "ln file other", "ln -s file other", "mkdir d", "mkfifo p",
		": >file", "truncate -s 0 file", "chmod 600 file", "touch -d 2001-01-01 file", "cp file copy", "rmdir ../empty", "mv ../outside/secret .",
		"ln ../outside/secret here", "cp -r . ../copy", "echo x >../outside/new", "chmod 700 .", "dd if=/dev/null of=file",
	} {
		for _, confined := range []bool{false, true} {
			work, outside := world(t)
			if err := os.Mkdir(filepath.Join(work, "../empty"), 0o755); err != nil {
				t.Fatal(err)
			}
			top := filepath.Dir(work)
			before := snapshot(t, top)
			p := ReadOnly("", os.Getenv("PATH"), work)
			policy := &p
			if !confined {
				policy = nil
			}
			out, _ := run(t, policy, work, "/bin/sh", "-c", script)
			if changed := snapshot(t, top) != before; changed == confined {
				t.Errorf("%s: confined %t, changed %t: %s", script, confined, changed, out)
			}
			_ = outside
		}
	}
}

func TestShows(t *testing.T) {
	if !confines(t) {
		return
	}
	neighbour := exec.CommandContext(t.Context(), "sleep", "1000")
	neighbour.Env = []string{"NEIGHBOUR=hidden"}
	if err := neighbour.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = neighbour.Wait() }()
	defer func() { _ = neighbour.Process.Kill() }()
	for _, script := range []string{
		"cat ../outside/secret", "cat link", "cat /proc/self/cwd/../outside/secret", "cat /proc/%d/environ", "cat /proc/%d/cwd/secret", "cat /proc/%d/root$PWD/../outside/secret",
		"cd ../outside && cat secret", "ls ../outside/ && echo hidden", "cat ../*/secret", "dd if=../outside/secret", "cp ../outside/secret /dev/stdout",
	} {
		if strings.Contains(script, "%d") {
			script = fmt.Sprintf(script, neighbour.Process.Pid)
		}
		for _, confined := range []bool{false, true} {
			work, outside := world(t)
			policy := ReadOnly("", os.Getenv("PATH"), work)
			p := &policy
			if !confined {
				p = nil
			}
			if strings.Contains(script, "/cwd/secret") && !strings.Contains(script, "self") {
				continue // the neighbour works elsewhere: the control run would show nothing
			}
			out, _ := run(t, p, work, "/bin/sh", "-c", script)
			if shown := strings.Contains(out, "hidden"); shown == confined {
				t.Errorf("%s: confined %t, shown %t: %s", script, confined, shown, out)
			}
			_ = outside
		}
	}
}

// A confined command can neither end nor disturb processes outside.
func TestSignals(t *testing.T) {
	if !confines(t) {
		return
	}
	work, _ := world(t)
	p := ReadOnly("", os.Getenv("PATH"), work)
	for _, confined := range []bool{true, false} {
		neighbour := exec.CommandContext(t.Context(), "sleep", "1000")
		if err := neighbour.Start(); err != nil {
			t.Fatal(err)
		}
		policy := &p
		if !confined {
			policy = nil
		}
		_, err := run(t, policy, work, "/bin/sh", "-c", fmt.Sprintf("kill -KILL %d", neighbour.Process.Pid))
		if (err != nil) != confined {
			t.Errorf("confined %t: kill: %v", confined, err)
		}
		_ = neighbour.Process.Kill()
		_ = neighbour.Wait()
	}
}

// attempt is a system call that is to be refused.
type attempt struct {
	name string
	try  func() error
}

func number(name string, nr uintptr, args ...uintptr) attempt {
	args = slices.Concat(args, make([]uintptr, 6))
	return attempt{name, func() error {
		_, _, errno := unix.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
		if errno == 0 {
			return nil
		}
		return errno
	}}
}

// attempts returns operations that ordinary shell commands do not use.
func attempts() []attempt {
	parent := uintptr(os.Getppid())
	limit := unix.Rlimit{Cur: 1, Max: 1}
	return []attempt{
		{"ptrace", func() error { return unix.PtraceSeize(int(parent)) }},
		number("io_uring", unix.SYS_IO_URING_SETUP, 1, 0),
		{"inet", func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); return err }},
		{"inet6 udp", func() error { _, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0); return err }},
		{"mptcp", func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 262); return err }},
		{"unix", func() error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},
		{"netlink", func() error { _, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0); return err }},
		{"dial", func() error { _, err := net.Dial("tcp", "127.0.0.1:1"); return err }},
		{"user namespace", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }},
		number("clone into a namespace", unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)),
		{"mount", func() error { return unix.Mount("none", "/mnt", "tmpfs", 0, "") }},
		{"chroot", func() error { return unix.Chroot("/tmp") }},
		{"pidfd_getfd", func() error { _, err := unix.PidfdGetfd(0, 0, 0); return err }},
		number("keyctl", unix.SYS_KEYCTL, 0),
		number("bpf", unix.SYS_BPF, 0),
		number("userfaultfd", unix.SYS_USERFAULTFD, 0),
		{"limits of the parent", func() error { return unix.Prlimit(int(parent), unix.RLIMIT_CPU, &limit, nil) }},
		{"priority of the parent", func() error { return unix.Setpriority(unix.PRIO_PROCESS, int(parent), 19) }},
		{"priority of the user", func() error { return unix.Setpriority(unix.PRIO_USER, 0, 19) }},
		{"processors of the parent", func() error { return unix.SchedSetaffinity(int(parent), &unix.CPUSet{1}) }},
		{"lease", func() error { return withFile("file", unix.F_SETLEASE, unix.F_RDLCK) }},
		{"watch of a folder", func() error { return withFile(".", unix.F_NOTIFY, 4) }},
		{"chmod", func() error { return unix.Chmod("file", 0o600) }},
		{"fchmodat2", func() error { return unix.Fchmodat(unix.AT_FDCWD, "file", 0o600, unix.AT_SYMLINK_NOFOLLOW) }},
		{"chown", func() error { return unix.Chown("file", os.Getuid(), os.Getgid()) }},
		{"times", func() error { return unix.Utimes("file", make([]unix.Timeval, 2)) }},
		{"attributes", func() error { return unix.Setxattr("file", "user.x", []byte("y"), 0) }},
		number("shared memory", unix.SYS_SHMGET, 1, 4096, 0o600|unix.IPC_CREAT),
		number("shared memory by its id", unix.SYS_SHMAT, 0),
		number("semaphores by their id", unix.SYS_SEMOP, 0),
		{"flags of a file", func() error {
			fd, err := unix.Open("file", unix.O_RDONLY, 0)
			if err != nil {
				return fmt.Errorf("cannot read: %v", err)
			}
			return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0x40)
		}},
		number("typing into a terminal", unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&limit))),
		{"write", func() error { _, err := unix.Open("file", unix.O_WRONLY, 0); return err }},
		{"truncate", func() error { return unix.Truncate("file", 0) }},
		{"write through a descriptor in /proc", func() error {
			fd, err := unix.Open("file", unix.O_RDONLY, 0)
			if err != nil {
				return fmt.Errorf("cannot read: %v", err)
			}
			_, err = unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR, 0)
			return err
		}},
		{"capabilities", func() error {
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			data := [2]unix.CapUserData{{Effective: 1 << unix.CAP_KILL, Permitted: 1 << unix.CAP_KILL}}
			return unix.Capset(&header, &data[0])
		}},
	}
}

// trySystemCalls prints the kernel's answer to each system call.
func trySystemCalls() {
	for _, a := range attempts() {
		err := a.try()
		refused := errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) ||
			errors.Is(err, unix.ENOTTY) && a.name == "flags of a file"
		fmt.Printf("%s: %t %v\n", a.name, refused, err)
	}
}

// withFile calls fcntl(2) with a file that is open for reading.
func withFile(name string, command, argument int) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), command, argument)
	return err
}

func TestSystemCalls(t *testing.T) {
	if !confines(t) {
		return
	}
	work, _ := world(t)
	p := ReadOnly("", os.Getenv("PATH"), work)
	out, err := run(t, &p, work, "system calls")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, a := range attempts() {
		if !strings.Contains(out, "\n"+a.name+": true ") && !strings.HasPrefix(out, a.name+": true ") {
			t.Errorf("%s is not refused", a.name)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// The restrictions of the thread apply to all of its descendants, also for root.
func TestNoNewPrivileges(t *testing.T) {
	if !confines(t) {
		return
	}
	work, _ := world(t)
	p := ReadOnly("", os.Getenv("PATH"), work)
	out, err := run(t, &p, work, "/bin/sh", "-c", "cat /proc/self/status")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t"} {
		if want == "CapBnd:\t" && os.Getuid() == 0 {
			want += "0000000000000000"
		}
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

// The kernel's own list: no mount of a view obeys set-user-ID bits, and only mounts of /dev have
// devices.
func TestViewHasNoPrivilegedMounts(t *testing.T) {
	if !confines(t) || !Administers() {
		return
	}
	work, _ := world(t)
	p := ReadOnly("", os.Getenv("PATH"), work, "/proc")
	p.Write, p.View = []string{work}, true
	const script = `while read -r line; do echo "$line"; done </proc/self/mountinfo; echo x >/dev/null && echo null works`
	out, err := run(t, &p, work, "/bin/sh", "-c", script)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mounts := 0
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasPrefix(fields[4], "/") {
			continue
		}
		mounts++
		options := strings.Split(fields[5], ",")
		if !slices.Contains(options, "nosuid") ||
			!slices.Contains(options, "nodev") && !disk.Within("/dev", fields[4]) {
			t.Errorf("%s is mounted with %s", fields[4], fields[5])
		}
	}
	if mounts == 0 || !strings.Contains(out, "null works") {
		t.Errorf("the command sees %d mounts: %s", mounts, out)
	}
}

// A file with another content can be read at its path, and only with that content: no name that
// another file can get grants a right.
func TestViewShowsOtherContentOutsideOfPolicy(t *testing.T) {
	if !confines(t) || !Administers() {
		return
	}
	work, outside := world(t)
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(filepath.Join(outside, "next"), []byte("hidden\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := ReadOnly("", os.Getenv("PATH"), work)
	var err error
	p.View = true
	if p.Hide, err = FindAll([]string{secret}, map[string][]byte{secret: []byte("shown\n")}); err != nil {
		t.Fatal(err)
	}
	script := "cat " + secret + "; cat " + filepath.Join(outside, "next") + " || echo denied"
	out, err := run(t, &p, work, "/bin/sh", "-c", script)
	if err != nil || !strings.Contains(out, "shown") || !strings.Contains(out, "denied") ||
		strings.Contains(out, "hidden") {
		t.Errorf("%v: %s", err, out)
	}
	// If another file has the name by then, the command does not start.
	content := Hidden{Path: secret, Device: p.Hide[0].Device, Inode: p.Hide[0].Inode + 1, Content: []byte("shown\n")}
	if err := content.grant(-1); !errors.As(err, new(*ChangedError)) {
		t.Errorf("another file than the shown one: %v", err)
	}
}
