package escape

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempt is a way out. try returns nil only if it leads out.
type attempt struct {
	name string
	// when reports whether a sandbox must forbid the attempt; nil means that all must.
	when func(prey) bool
	// kept has a protected file made for it in the workspace.
	kept bool
	try  func(w prey, target string) error
}

// prey has the targets of an attacker, and the properties of its sandbox.
type prey struct {
	Dir, Room string // outside, and in the sandbox
	// Host is the PID of a process outside of the sandbox: the supervisor of the attacker, if the
	// sandbox has its own processes.
	Host     int
	Abstract string // names of sockets at which a process outside listens
	Path     string
	// DatagramPath is the path of a socket for datagrams.
	DatagramPath string
	TCP, UDP     int
	Inherited    uint64  // inode of a file that the host has open
	Setuid       string  // a program that belongs to root and is setuid
	Proxy        string  // of a proxied sandbox; 127.0.0.1 is in its list, not at the port TCP
	Elsewhere    [4]byte // address at which a process outside listens, at the port of the proxy
	Writes       bool
	View         bool
	Apart        bool
	Network      string
	// OwnProcesses reports that the sandbox shows its own processes only.
	OwnProcesses bool
}

func reads(w prey) bool   { return !w.Writes }
func views(w prey) bool   { return w.View || !w.Writes }
func keeps(w prey) bool   { return w.View }
func offline(w prey) bool { return w.Network != "on" }
func proxied(w prey) bool { return w.Network == "proxy" }
func alone(w prey) bool   { return w.OwnProcesses }
func writes(w prey) bool  { return w.Writes }

// attempts are all ways out. Each has a target file of its own, outside.
func attempts() []attempt {
	var list []attempt
	for _, some := range [][]attempt{fileAttempts(), linkAttempts(), keptAttempts(), attributeAttempts(), processAttempts(), kernelAttempts(), mountAttempts(), networkAttempts(), everyKind(), proxyAttempts(), otherEntries(), lastAttempts()} {
		list = append(list, some...)
	}
	return list
}

func opens(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

func number(nr uintptr, args ...uintptr) error {
	args = append(args, make([]uintptr, 6)...)
	if _, _, errno := unix.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5]); errno != 0 {
		return errno
	}
	return nil
}

var errHeld = errors.New("held")

func fileAttempts() []attempt {
	proc := func(w prey, rest string) string { return fmt.Sprintf("/proc/%d/%s", w.Host, rest) }
	return []attempt{
		{name: "read", try: func(_ prey, target string) error { return opens(target, unix.O_RDONLY) }},
		{name: "write", try: func(_ prey, target string) error { return opens(target, unix.O_WRONLY) }},
		{name: "append", try: func(_ prey, target string) error { return opens(target, unix.O_WRONLY|unix.O_APPEND) }},
		{name: "truncate", try: func(_ prey, target string) error { return unix.Truncate(target, 0) }},
		{name: "create", try: func(_ prey, target string) error { return opens(target+".new", unix.O_WRONLY|unix.O_CREAT) }},
		{name: "nameless file", try: func(w prey, _ string) error { return opens(w.Dir, unix.O_WRONLY|unix.O_TMPFILE) }},
		{name: "mkdir", try: func(_ prey, target string) error { return unix.Mkdir(target+".dir", 0o700) }},
		{name: "fifo", try: func(_ prey, target string) error { return unix.Mkfifo(target+".fifo", 0o600) }},
		{name: "list", try: func(w prey, _ string) error { return opens(w.Dir, unix.O_RDONLY|unix.O_DIRECTORY) }},
		{name: "unlink", try: func(_ prey, target string) error { return unix.Unlink(target) }},
		{name: "rename", try: func(_ prey, target string) error { return unix.Rename(target, target+".2") }},
		{name: "rename in", try: func(w prey, target string) error { return unix.Rename(target, filepath.Join(w.Room, "moved")) }},
		{name: "rename out", try: func(w prey, target string) error { return unix.Rename(filepath.Join(w.Room, "file"), target) }},
		{name: "rename the workspace", try: func(w prey, _ string) error {
			if err := unix.Rename(w.Room, w.Room+".2"); err != nil {
				return err
			}
			return unix.Rename(w.Room+".2", w.Room)
		}},
		{name: "exchange", try: func(w prey, target string) error {
			return unix.Renameat2(unix.AT_FDCWD, filepath.Join(w.Room, "file"), unix.AT_FDCWD, target, unix.RENAME_EXCHANGE)
		}},
		{name: "a relative path", try: func(w prey, target string) error {
			rel, err := filepath.Rel(w.Room, target)
			if err != nil {
				return err
			}
			return opens(filepath.Join(w.Room, "/")+"/"+rel, unix.O_RDWR)
		}},
		{name: "a descriptor of the root", try: func(_ prey, target string) error {
			root, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(root) }()
			fd, err := unix.Openat(root, strings.TrimPrefix(target, "/"), unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		}},
		{name: "O_PATH, then /proc/self/fd", try: func(_ prey, target string) error {
			fd, err := unix.Open(target, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
			return opens(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR)
		}},
		{name: "/proc/self/root", try: func(_ prey, target string) error { return opens("/proc/self/root"+target, unix.O_RDWR) }},
		{name: "/proc/self/task/*/root", try: func(_ prey, target string) error {
			return opens(fmt.Sprintf("/proc/self/task/%d/root%s", unix.Gettid(), target), unix.O_RDWR)
		}},
		{name: "/proc/self/cwd", try: func(w prey, target string) error {
			return opens("/proc/self/cwd/../"+filepath.Base(w.Dir)+"/"+filepath.Base(target), unix.O_RDWR)
		}},
		{name: "root of the host", try: func(w prey, target string) error { return opens(proc(w, "root")+target, unix.O_RDONLY) }},
		{name: "directory of the host", try: func(w prey, _ string) error { return opens(proc(w, "cwd/")+"..", unix.O_RDONLY) }},
		{name: "where the descriptors of the host lead", try: func(w prey, _ string) error { _, err := os.Readlink(proc(w, "fd/0")); return err }},
		{name: "a descriptor of the host", try: func(w prey, _ string) error { return opens(proc(w, "fd/0"), unix.O_RDONLY) }},
		{name: "environment of the host", try: func(w prey, _ string) error { return opens(proc(w, "environ"), unix.O_RDONLY) }},
		{name: "memory of the host", try: func(w prey, _ string) error { return opens(proc(w, "mem"), unix.O_RDWR) }},
		{name: "map of the host", try: func(w prey, _ string) error { return opens(proc(w, "maps"), unix.O_RDONLY) }},
		{name: "killing the host first", try: func(w prey, _ string) error { return opens(proc(w, "oom_score_adj"), unix.O_WRONLY) }},
		{name: "program of the host", try: func(w prey, _ string) error { return opens(proc(w, "exe"), unix.O_WRONLY) }},
		{name: "an inherited descriptor", try: func(w prey, _ string) error {
			for fd := range 256 {
				var st unix.Stat_t
				if unix.Fstat(fd, &st) == nil && st.Ino == w.Inherited {
					return nil
				}
			}
			return errHeld
		}},
		{name: "watching a folder", when: reads, try: func(w prey, _ string) error {
			fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
			_, err = unix.InotifyAddWatch(fd, w.Dir, unix.IN_ALL_EVENTS)
			return err
		}},
		{name: "watching a folder, the older way", try: func(w prey, _ string) error {
			fd, err := unix.Open(w.Dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
			_, err = unix.FcntlInt(uintptr(fd), unix.F_NOTIFY, 0x4) // DN_CREATE
			return err
		}},
		{name: "memory of the machine", try: func(prey, string) error { return opens("/dev/mem", unix.O_RDONLY) }},
		{name: "log of the kernel", try: func(prey, string) error { return opens("/dev/kmsg", unix.O_RDONLY) }},
		{name: "sysrq", try: func(prey, string) error { return opens("/proc/sysrq-trigger", unix.O_WRONLY) }},
		{name: "core pattern", try: func(prey, string) error { return opens("/proc/sys/kernel/core_pattern", unix.O_WRONLY) }},
		{name: "settings of the kernel", try: func(prey, string) error { return opens("/proc/sys/vm/drop_caches", unix.O_WRONLY) }},
		{name: "another control group", try: func(prey, string) error { return opens("/sys/fs/cgroup/cgroup.procs", unix.O_WRONLY) }},
		{name: "what is loaded into every program", try: func(prey, string) error { return opens("/etc/ld.so.preload", unix.O_WRONLY|unix.O_CREAT) }},
		{name: "passwords", when: func(prey) bool { return os.Getuid() == 0 }, try: func(prey, string) error { return opens("/etc/shadow", unix.O_RDONLY) }},
	}
}

func linkAttempts() []attempt {
	return []attempt{
		{name: "hard link in", try: func(w prey, target string) error { return unix.Link(target, filepath.Join(w.Room, "linked")) }},
		{name: "hard link out", try: func(w prey, target string) error {
			return unix.Link(filepath.Join(w.Room, "file"), target+".l")
		}},
		{name: "symbolic link outside", try: func(_ prey, target string) error { return unix.Symlink(target, target+".s") }},
		{name: "writing by a symbolic link", when: writes, try: func(w prey, target string) error {
			link := filepath.Join(w.Room, "link-w")
			if err := unix.Symlink(target, link); err != nil {
				return err
			}
			return opens(link, unix.O_WRONLY)
		}},
		{name: "reading by a symbolic link", when: writes, try: func(w prey, target string) error {
			link := filepath.Join(w.Room, "link-r")
			if err := unix.Symlink("../"+filepath.Base(w.Dir)+"/"+filepath.Base(target), link); err != nil {
				return err
			}
			return opens(link, unix.O_RDONLY)
		}},
		{name: "a link to a folder", when: writes, try: func(w prey, target string) error {
			link := filepath.Join(w.Room, "link-d")
			if err := unix.Symlink(w.Dir, link); err != nil {
				return err
			}
			return opens(filepath.Join(link, filepath.Base(target)+".made"), unix.O_WRONLY|unix.O_CREAT)
		}},
		{name: "a hard link to a descriptor", try: func(w prey, target string) error {
			fd, err := unix.Open(target, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, filepath.Join(w.Room, "linked-fd"), unix.AT_SYMLINK_FOLLOW)
		}},
		{name: "a character device", try: func(w prey, _ string) error {
			return unix.Mknod(filepath.Join(w.Room, "null"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3)))
		}},
		{name: "a block device", try: func(w prey, _ string) error {
			return unix.Mknod(filepath.Join(w.Room, "disk"), unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0)))
		}},
	}
}

// keptAttempts are about files in the workspace that others obey later: git's hooks
// and configuration, start-up files of shells.
func keptAttempts() []attempt {
	kept := func(name string, try func(file string, w prey) error) attempt {
		return attempt{name: name, when: keeps, kept: true, try: func(w prey, target string) error {
			return try(filepath.Join(w.Room, filepath.Base(target), "hooks", "file"), w)
		}}
	}
	return []attempt{
		kept("a hook: write", func(f string, _ prey) error { return opens(f, unix.O_WRONLY) }),
		kept("a hook: truncate", func(f string, _ prey) error { return unix.Truncate(f, 0) }),
		kept("a hook: unlink", func(f string, _ prey) error { return unix.Unlink(f) }),
		kept("a hook: rename", func(f string, _ prey) error { return unix.Rename(f, f+".2") }),
		kept("a hook: a new one", func(f string, _ prey) error { return opens(f+".new", unix.O_WRONLY|unix.O_CREAT) }),
		kept("a hook: rename over", func(f string, w prey) error { return unix.Rename(filepath.Join(w.Room, "other"), f) }),
		kept("a hook: rename over the folder", func(f string, w prey) error {
			return unix.Rename(filepath.Join(w.Room, "folder"), filepath.Dir(f))
		}),
		kept("a hook: rename the folder", func(f string, _ prey) error { return unix.Rename(filepath.Dir(f), filepath.Dir(f)+".2") }),
		kept("a hook: rename the folder above", func(f string, _ prey) error {
			return unix.Rename(filepath.Dir(filepath.Dir(f)), filepath.Dir(filepath.Dir(f))+".2")
		}),
		kept("a hook: exchange", func(f string, w prey) error {
			return unix.Renameat2(unix.AT_FDCWD, filepath.Join(w.Room, "other"), unix.AT_FDCWD, f, unix.RENAME_EXCHANGE)
		}),
		kept("a hook: hard link", func(f string, w prey) error {
			if err := unix.Link(f, filepath.Join(w.Room, "hook")); err != nil {
				return err
			}
			return opens(filepath.Join(w.Room, "hook"), unix.O_WRONLY)
		}),
		kept("a hook: mode", func(f string, _ prey) error { return unix.Chmod(f, 0o777) }),
		kept("a hook: unmount", func(f string, _ prey) error { return unix.Unmount(filepath.Dir(f), unix.MNT_DETACH) }),
		kept("a hook: mount over", func(f string, w prey) error {
			return unix.Mount(filepath.Join(w.Room, "folder"), filepath.Dir(f), "", unix.MS_BIND, "")
		}),
		kept("a hook: make it writable", func(f string, _ prey) error {
			return unix.MountSetattr(unix.AT_FDCWD, filepath.Dir(f), 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}),
	}
}

func attributeAttempts() []attempt {
	return []attempt{
		{name: "mode", when: views, try: func(_ prey, target string) error { return unix.Chmod(target, 0o777) }},
		{name: "owner", when: views, try: func(_ prey, target string) error { return unix.Chown(target, os.Getuid(), os.Getgid()) }},
		{name: "times", when: views, try: func(_ prey, target string) error { return unix.Utimes(target, make([]unix.Timeval, 2)) }},
		{name: "attribute", when: views, try: func(_ prey, target string) error { return unix.Setxattr(target, "user.x", []byte("y"), 0) }},
		{name: "mode in the folder", when: reads, try: func(w prey, _ string) error { return unix.Chmod(filepath.Join(w.Room, "file"), 0o777) }},
		{name: "write in the folder", when: reads, try: func(w prey, _ string) error { return opens(filepath.Join(w.Room, "file"), unix.O_WRONLY) }},
		{name: "flags", try: func(w prey, _ string) error {
			fd, err := unix.Open(filepath.Join(w.Room, "file"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
			return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0x40)
		}},
		{name: "a handle", try: func(_ prey, target string) error {
			handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, target, 0)
			if err != nil {
				return err
			}
			_ = mount
			root, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(root) }()
			fd, err := unix.OpenByHandleAt(root, handle, unix.O_RDWR)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		}},
	}
}

func processAttempts() []attempt {
	limit := unix.Rlimit{Cur: 4096, Max: 4096}
	vec := func() ([]unix.Iovec, []unix.RemoteIovec) {
		buf := make([]byte, 1)
		return []unix.Iovec{{Base: &buf[0], Len: 1}}, []unix.RemoteIovec{{Base: 4096, Len: 1}}
	}
	// reached reports a look into memory that is only not mapped: it was let in.
	reached := func(err error) error {
		if errors.Is(err, unix.EFAULT) {
			return nil
		}
		return err
	}
	return []attempt{
		{name: "ptrace", try: func(w prey, _ string) error {
			err := unix.PtraceSeize(w.Host)
			if err == nil {
				_ = unix.PtraceDetach(w.Host)
			}
			return err
		}},
		{name: "process_vm_readv", try: func(w prey, _ string) error {
			l, r := vec()
			_, err := unix.ProcessVMReadv(w.Host, l, r, 0)
			return reached(err)
		}},
		{name: "process_vm_writev", try: func(w prey, _ string) error {
			l, r := vec()
			_, err := unix.ProcessVMWritev(w.Host, l, r, 0)
			return reached(err)
		}},
		{name: "pidfd_getfd", try: func(w prey, _ string) error {
			fd, err := unix.PidfdOpen(w.Host, 0)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
			_, err = unix.PidfdGetfd(fd, 0, 0)
			return err
		}},
		{name: "pidfd_send_signal", try: func(w prey, _ string) error {
			fd, err := unix.PidfdOpen(w.Host, 0)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
			return unix.PidfdSendSignal(fd, 0, nil, 0)
		}},
		{name: "the command line of a process outside", when: alone, try: func(prey, string) error {
			list, err := filepath.Glob("/proc/[0-9]*/cmdline")
			if err != nil || len(list) == 0 {
				return fmt.Errorf("it sees no processes at all: %w", err)
			}
			for _, path := range list {
				if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), driverRole) {
					return nil
				}
			}
			return errHeld
		}},
		{name: "a process outside", when: alone, try: func(w prey, _ string) error {
			for pid := range 1 << 16 {
				if pid == 0 || errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
					continue
				}
				raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // of a thread as well
				if !strings.Contains(string(raw), fmt.Sprintf("\nTgid:\t%d\n", w.Host)) && !strings.Contains(string(raw), fmt.Sprintf("\nTgid:\t%d\n", os.Getpid())) {
					return nil
				}
			}
			return errHeld
		}},
		{name: "kill", try: func(w prey, _ string) error { return unix.Kill(w.Host, 0) }},
		{name: "tgkill", try: func(w prey, _ string) error { return unix.Tgkill(w.Host, w.Host, 0) }},
		{name: "a thread of what watches it", try: func(w prey, _ string) error {
			list, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", w.Host))
			if err != nil || len(list) == 0 {
				return fmt.Errorf("it sees no threads: %w", err)
			}
			for _, at := range list {
				thread, err := strconv.Atoi(filepath.Base(at))
				if err != nil {
					return err
				}
				for _, send := range []func() error{
					func() error { return unix.Kill(thread, 0) },
					func() error { return unix.Tgkill(w.Host, thread, 0) },
					func() error { return number(unix.SYS_TKILL, uintptr(thread), 0) },
				} {
					if send() == nil {
						return nil
					}
				}
			}
			return errHeld
		}},
		{name: "rt_sigqueueinfo", try: func(w prey, _ string) error {
			info := [32]int32{0, 0, -1}
			return number(unix.SYS_RT_SIGQUEUEINFO, uintptr(w.Host), 0, uintptr(unsafe.Pointer(&info)))
		}},
		{name: "kill its group", try: func(w prey, _ string) error {
			group, err := unix.Getpgid(w.Host)
			if err != nil {
				return err
			}
			return unix.Kill(-group, 0)
		}},
		{name: "limits", try: func(w prey, _ string) error {
			return unix.Prlimit(w.Host, unix.RLIMIT_NOFILE, &limit, nil)
		}},
		{name: "processors", try: func(w prey, _ string) error {
			var own unix.CPUSet
			if err := unix.SchedGetaffinity(0, &own); err != nil {
				return err
			}
			return unix.SchedSetaffinity(w.Host, &own)
		}},
		{name: "priority", try: func(w prey, _ string) error { return unix.Setpriority(unix.PRIO_PROCESS, w.Host, 1) }},
		{name: "kcmp", try: func(w prey, _ string) error { return number(unix.SYS_KCMP, uintptr(w.Host), uintptr(w.Host), 2) }},
		{name: "pages", try: func(w prey, _ string) error { return number(unix.SYS_MOVE_PAGES, uintptr(w.Host), 0, 0, 0, 0, 0) }},
		{name: "a setuid program", when: func(prey) bool { return os.Getuid() != 0 }, try: func(w prey, _ string) error {
			return becomes(w.Setuid, "root", 0)
		}},
		{name: "a program in memory", try: func(_ prey, target string) error {
			fd, err := unix.MemfdCreate("x", 0)
			if err != nil {
				return err
			}
			program, err := os.ReadFile("/proc/self/exe")
			if err != nil {
				return err
			}
			if _, err := unix.Write(fd, program); err != nil {
				return err
			}
			return becomes(fmt.Sprintf("/proc/self/fd/%d", fd), target, 0)
		}},
		{name: "a program started from here", try: func(_ prey, target string) error { return becomes("/proc/self/exe", target, 0) }},
		{name: "a program in a user namespace", try: func(_ prey, target string) error { return becomes("/proc/self/exe", "nothing", unix.CLONE_NEWUSER) }},
	}
}

// becomes starts a program that reports by its exit code whether it reached a target file.
func becomes(program, target string, flags uintptr) error {
	pid, err := syscall.ForkExec(program, []string{childRole, target}, &syscall.ProcAttr{Env: []string{"GOMAXPROCS=1"}, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Cloneflags: flags}})
	if err != nil {
		return err
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		return err
	}
	if !status.Exited() || status.ExitStatus() != 0 {
		return errHeld
	}
	return nil
}

// playChild is the program that becomes starts. It returns the exit code: 0 if it reached the
// target.
func playChild(target string) int {
	switch target {
	case "nothing":
		return 0
	case i386:
		return playI386()
	case "root":
		if os.Geteuid() == 0 {
			return 0
		}
		return 1
	}
	if opens(target, unix.O_RDWR) == nil {
		return 0
	}
	return 1
}

func kernelAttempts() []attempt {
	text := func(s string) uintptr { return uintptr(unsafe.Pointer(&append([]byte(s), 0)[0])) }
	var params [120]byte
	return []attempt{
		{name: "io_uring", try: func(prey, string) error { return number(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params))) }},
		{name: "bpf", try: func(prey, string) error {
			return number(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&[128]byte{0: 2, 4: 4, 8: 4, 12: 1})), 72)
		}},
		{name: "userfaultfd", try: func(prey, string) error { return number(unix.SYS_USERFAULTFD, 0) }},
		{name: "perf", try: func(prey, string) error {
			fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}, 0, -1, -1, 0)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		}},
		{name: "keyctl", try: func(prey, string) error {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
			return err
		}},
		{name: "add_key", try: func(prey, string) error {
			_, err := unix.AddKey("user", "settle-escape", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		}},
		{name: "request_key", try: func(prey, string) error {
			_, err := unix.RequestKey("user", "settle-escape", "", 0)
			if errors.Is(err, unix.ENOKEY) {
				return nil // it was asked for
			}
			return err
		}},
		{name: "shared memory", try: func(prey, string) error {
			_, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600|unix.IPC_CREAT)
			return err
		}},
		{name: "a queue", try: func(prey, string) error { return number(unix.SYS_MSGGET, 0, 0o600|unix.IPC_CREAT) }},
		{name: "semaphores", try: func(prey, string) error { return number(unix.SYS_SEMGET, 0, 1, 0o600|unix.IPC_CREAT) }},
		{name: "a POSIX queue", try: func(prey, string) error {
			return number(unix.SYS_MQ_OPEN, text("settle-escape"), unix.O_CREAT|unix.O_RDWR, 0o600)
		}},
		{name: "typing into a terminal", try: func(prey, string) error { return number(unix.SYS_IOCTL, 0, unix.TIOCSTI, text("x")) }},
		{name: "name of the machine", try: func(prey, string) error {
			name, err := os.Hostname()
			if err != nil {
				return err
			}
			return unix.Sethostname([]byte(name))
		}},
		{name: "kernel messages", try: func(prey, string) error { _, err := unix.Klogctl(10, nil); return err }},
		{name: "swap", try: func(_ prey, target string) error {
			if err := number(unix.SYS_SWAPOFF, text(target)); !errors.Is(err, unix.EINVAL) {
				return err
			}
			return nil // it has looked at the file
		}},
		{name: "accounting", try: func(prey, string) error { return number(unix.SYS_ACCT, 0) }},
		{name: "the clock", try: func(prey, string) error {
			var now unix.Timespec
			if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
				return err
			}
			return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
		}},
		{name: "notices of all files", try: func(prey, string) error {
			fd, err := unix.FanotifyInit(unix.FAN_CLOEXEC, 0)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		}},
	}
}

func mountAttempts() []attempt {
	return []attempt{
		{name: "tmpfs", try: func(w prey, _ string) error {
			return unix.Mount("none", filepath.Join(w.Room, "folder"), "tmpfs", 0, "")
		}},
		{name: "bind mount", try: func(w prey, _ string) error {
			return unix.Mount(w.Dir, filepath.Join(w.Room, "folder"), "", unix.MS_BIND, "")
		}},
		{name: "open_tree", try: func(w prey, _ string) error {
			fd, err := unix.OpenTree(unix.AT_FDCWD, w.Dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		}},
		{name: "fsopen", try: func(prey, string) error {
			fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		}},
		{name: "remount", try: func(prey, string) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
		{name: "a namespace by clone3", try: func(prey, string) error { return clone3(unix.CLONE_NEWUSER) }},
		{name: "a namespace for mounts", try: func(prey, string) error {
			return onThread(func() error { return unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS) })
		}},
		{name: "a namespace for the network", try: func(prey, string) error { return onThread(func() error { return unix.Unshare(unix.CLONE_NEWNET) }) }},
		{name: "a namespace for users", try: func(prey, string) error { return onThread(func() error { return unix.Unshare(unix.CLONE_NEWUSER) }) }},
		{name: "namespace of the host", try: func(w prey, _ string) error {
			return onThread(func() error {
				fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", w.Host), unix.O_RDONLY|unix.O_CLOEXEC, 0)
				if err != nil {
					return err
				}
				defer func() { _ = unix.Close(fd) }()
				return unix.Setns(fd, 0)
			})
		}},
		{name: "namespaces of the host by its pidfd", try: func(w prey, _ string) error {
			return onThread(func() error {
				fd, err := unix.PidfdOpen(w.Host, 0)
				if err != nil {
					return err
				}
				defer func() { _ = unix.Close(fd) }()
				return unix.Setns(fd, unix.CLONE_NEWUTS)
			})
		}},
	}
}

// clone3 makes a child that ends at once; its flags are where a filter cannot look.
func clone3(flags uint64) error {
	args := [11]uint64{0: flags, 4: uint64(unix.SIGCHLD)} // struct clone_args
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		for {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	_, err := unix.Wait4(int(pid), nil, 0, nil)
	return err
}

// onThread does something to a thread that ends with it.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// lastAttempts change the attacker itself.
func lastAttempts() []attempt {
	return []attempt{
		{name: "chroot", try: func(w prey, _ string) error { return unix.Chroot(w.Dir) }},
		{name: "a privilege", try: func(prey, string) error {
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			data := [2]unix.CapUserData{{Effective: 1 << unix.CAP_KILL, Permitted: 1 << unix.CAP_KILL}}
			return unix.Capset(&header, &data[0])
		}},
	}
}
