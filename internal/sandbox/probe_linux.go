package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// RunProbe tries each escape that the sandbox forbids, and prints [Escapes]. Outside of a
// sandbox it does nothing. It returns the exit code.
func RunProbe(raw string) int {
	var b ProbeTarget
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if err != nil || mode != unix.SECCOMP_MODE_FILTER || json.Unmarshal([]byte(raw), &b) != nil {
		return 2
	}
	var e Escapes
	if err := b.works(); err != nil {
		e.Stuck = err.Error()
	}
	for _, a := range b.attempts() {
		e.Tried++
		if err := a.try(); !a.refused(err) {
			e.Out = append(e.Out, fmt.Sprintf("%s (%v)", a.name, err))
		}
	}
	if json.NewEncoder(os.Stdout).Encode(e) != nil {
		return 1
	}
	return 0
}

// works tries the allowed operations.
func (b ProbeTarget) works() error {
	if _, err := os.ReadFile(filepath.Join(b.Room, "file")); err != nil {
		return err
	}
	if b.Writes {
		if err := os.WriteFile(filepath.Join(b.Room, "made"), nil, 0o600); err != nil {
			return err
		}
	}
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} { // programs use them to talk to their children
		if err := onPair(kind, func(fd int) error { _, err := unix.Write(fd, []byte("x")); return err })(); err != nil {
			return err
		}
	}
	if b.Network != Proxied {
		return nil
	}
	conn, err := reach(b.Proxy, "canary.invalid:443")
	if err == nil {
		_ = conn.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "the sandbox denied") {
		return fmt.Errorf("the proxy does not answer: %w", err)
	}
	return nil
}

// way is one escape.
type way struct {
	name string
	try  func() error
}

// refused reports whether the kernel has refused.
func (w way) refused(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EROFS) ||
		errors.Is(err, unix.EXDEV) ||
		errors.Is(err, unix.EBUSY)
}

func open(path string, flags int) func() error {
	return func() error {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
}

func socket(family, kind int) func() error {
	return func() error {
		fd, err := unix.Socket(family, kind, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
}

// calls are the escapes over a network.
func (b ProbeTarget) calls() []way {
	if b.Network == Online {
		return nil
	}
	list := []way{
		{"UDP", socket(unix.AF_INET6, unix.SOCK_DGRAM)},
		{"a socket with a path", socket(unix.AF_UNIX, unix.SOCK_STREAM)},
		{"netlink", socket(unix.AF_NETLINK, unix.SOCK_RAW)},
		{"a raw socket", socket(unix.AF_INET, unix.SOCK_RAW)},
	}
	list = append(list, b.pairs()...)
	if b.Network != Proxied {
		return append(list, way{"TCP", socket(unix.AF_INET, unix.SOCK_STREAM)})
	}
	loopback4 := &unix.SockaddrInet4{Port: b.Server, Addr: [4]byte{127, 0, 0, 1}}
	loopback6 := &unix.SockaddrInet6{Port: b.Server, Addr: [16]byte{15: 1}}
	list = append(
		list,
		way{"UDP to a name server", socket(unix.AF_INET, unix.SOCK_DGRAM)},
		way{"TCP", onSocket(unix.AF_INET, func(fd int) error { return unix.Connect(fd, loopback4) })},
		way{"TCP over IPv6", onSocket(unix.AF_INET6, func(fd int) error { return unix.Connect(fd, loopback6) })},
		way{
			"TCP fast open",
			onSocket(
				unix.AF_INET,
				func(fd int) error { return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, loopback4) },
			),
		},
		way{"MPTCP", func() error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		}},
		way{
			"a port of its own",
			onSocket(unix.AF_INET, func(fd int) error { return unix.Bind(fd, &unix.SockaddrInet4{}) }),
		},
		way{"a server", onSocket(unix.AF_INET, func(fd int) error { return unix.Listen(fd, 1) })},
	)
	if b.Apart { // 192.0.2.1 is an unassigned address
		port, err := strconv.Atoi(b.Proxy[strings.LastIndexByte(b.Proxy, ':')+1:])
		list = append(list, way{"another machine", onSocket(unix.AF_INET, func(fd int) error {
			if err != nil {
				return err
			}
			err := unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{192, 0, 2, 1}})
			if errors.Is(err, unix.ENETUNREACH) {
				return unix.EPERM
			}
			return err
		})})
	}
	return list
}

// pairs are the escapes over socketpair(2), to an outside listener with a path.
func (b ProbeTarget) pairs() []way {
	listener := func(try func(fd int, to *unix.SockaddrUnix) error) func(fd int) error {
		return func(fd int) error {
			dir, err := unix.Open(b.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return fmt.Errorf("cannot name the listener: %v", err)
			}
			defer func() { _ = unix.Close(dir) }()
			return try(fd, &unix.SockaddrUnix{Name: ListenerName(dir)})
		}
	}
	send := listener(func(fd int, to *unix.SockaddrUnix) error { return unix.Sendto(fd, []byte("x"), 0, to) })
	connect := listener(func(fd int, to *unix.SockaddrUnix) error { return unix.Connect(fd, to) })
	return []way{
		{"a datagram to a socket with a path", onPair(unix.SOCK_DGRAM, send)},
		{"a datagram to a socket with a path, from a raw pair", onPair(unix.SOCK_RAW, send)},
		{"connecting a pair of sockets", onPair(unix.SOCK_DGRAM, connect)},
		{"passing a descriptor", onPair(unix.SOCK_DGRAM, listener(func(fd int, to *unix.SockaddrUnix) error {
			return unix.Sendmsg(fd, []byte("x"), unix.UnixRights(int(os.Stdin.Fd())), to, 0)
		}))},
		{"a name for a pair of sockets", onPair(unix.SOCK_STREAM, func(fd int) error {
			return unix.Bind(fd, &unix.SockaddrUnix{}) // the kernel chooses the address
		})},
		{"a server on a pair of sockets", onPair(unix.SOCK_STREAM, func(fd int) error { return unix.Listen(fd, 1) })},
	}
}

// ListenerName is the path of a target's listener, through a descriptor of its folder: the path
// of a socket has at most 108 bytes.
func ListenerName(dir int) string { return fmt.Sprintf("/proc/self/fd/%d/listener", dir) }

// onPair tries an operation on one of a pair of sockets.
func onPair(kind int, try func(fd int) error) func() error {
	return func() error {
		fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer func() { _, _ = unix.Close(fds[0]), unix.Close(fds[1]) }()
		return try(fds[0])
	}
}

// onSocket tries an operation on a TCP socket.
func onSocket(family int, try func(fd int) error) func() error {
	return func() error {
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("cannot make a socket: %v", err)
		}
		defer func() { _ = unix.Close(fd) }()
		return try(fd)
	}
}

func call(number uintptr, a, b uintptr) func() error {
	return func() error {
		if _, _, errno := unix.Syscall(number, a, b, 0); errno != 0 {
			return errno
		}
		return nil
	}
}

// watch tries to watch a folder that cannot be listed.
func (b ProbeTarget) watch() error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	_, err = unix.InotifyAddWatch(fd, b.Dir, unix.IN_ALL_EVENTS)
	return err
}

// listProcesses tries to find processes other than the probe and its supervisor in /proc.
func (b ProbeTarget) listProcesses() error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("cannot list them: %v", err)
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != b.Host && pid != os.Getpid() {
			return nil
		}
	}
	return unix.EPERM
}

// attempts are all escapes.
func (b ProbeTarget) attempts() []way {
	if b.OwnProcesses {
		b.Host = 1
	}
	target, process := filepath.Join(b.Dir, "target"), fmt.Sprintf("/proc/%d/", b.Host)
	list := []way{
		{"reading a file", open(target, unix.O_RDONLY)},
		{"writing a file", open(target, unix.O_WRONLY)},
		{"emptying a file", func() error { return unix.Truncate(target, 0) }},
		{"making a file", open(filepath.Join(b.Dir, "made"), unix.O_WRONLY|unix.O_CREAT)},
		{"making a folder", func() error { return unix.Mkdir(filepath.Join(b.Dir, "dir"), 0o700) }},
		{"removing a file", func() error { return unix.Unlink(target) }},
		{"renaming a file", func() error { return unix.Rename(target, target+"2") }},
		{"moving a file in", func() error { return unix.Rename(target, filepath.Join(b.Room, "moved")) }},
		{"linking a file", func() error { return unix.Link(target, filepath.Join(b.Room, "linked")) }},
		{"listing a folder", open(b.Dir, unix.O_RDONLY|unix.O_DIRECTORY)},
		{"the root of another process", open(process+"root"+target, unix.O_RDONLY)},
		{"the environment of another process", open(process+"environ", unix.O_RDONLY)},
		{"the memory of another process", open(process+"mem", unix.O_RDWR)},
		{"a signal", func() error { return unix.Kill(b.Host, 0) }},
		{"ptrace", func() error { return unix.PtraceSeize(b.Host) }},
		{
			"limits of another process",
			func() error { return unix.Prlimit(b.Host, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}, nil) },
		},
		{"a user namespace", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }},
		{"a mount", func() error { return unix.Mount("none", b.Room, "tmpfs", 0, "") }},
		{"another root", func() error { return unix.Chroot(b.Room) }},
		{"io_uring", call(unix.SYS_IO_URING_SETUP, 1, 0)},
		{"a key ring", call(unix.SYS_KEYCTL, 0, 0)},
		{"bpf", call(unix.SYS_BPF, 0, 0)},
		{"a privilege", func() error {
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			data := [2]unix.CapUserData{{Effective: 1 << unix.CAP_KILL, Permitted: 1 << unix.CAP_KILL}}
			return unix.Capset(&header, &data[0])
		}},
	}
	list = append(append(list, b.calls()...), b.hidden()...)
	if b.OwnProcesses {
		list = append(list, way{"the list of processes", b.listProcesses})
	}
	if !b.Writes {
		file := filepath.Join(b.Room, "file")
		list = append(
			list,
			way{"writing in the folder", open(file, unix.O_WRONLY)},
			way{"a mode", func() error { return unix.Chmod(file, 0o600) }},
			way{"a mode outside", func() error { return unix.Chmod(target, 0o600) }},
			way{"watching a folder", b.watch},
		)
	} else {
		if b.View {
			kept := filepath.Join(b.Room, "keeper", "kept")
			list = append(list, way{"a mode outside", func() error { return unix.Chmod(target, 0o644) }}, way{"times outside", func() error { return unix.Utimes(target, make([]unix.Timeval, 2)) }},
				way{"an owner outside", func() error { return unix.Chown(target, os.Getuid(), os.Getgid()) }},
				way{"a protected file", open(kept, unix.O_WRONLY)}, way{"removing a protected file", func() error { return unix.Unlink(kept) }},
				way{"renaming a protected file", func() error { return unix.Rename(kept, kept+"2") }}, way{"replacing a protected file", func() error { return unix.Rename(filepath.Join(b.Room, "made"), kept) }},
				way{"renaming the folder of a protected file", func() error { return unix.Rename(filepath.Dir(kept), filepath.Join(b.Room, "moved")) }})
		}
		link := filepath.Join(b.Room, "link")
		list = append(list, way{"a symbolic link", func() error {
			if err := os.Symlink(target, link); err != nil {
				return fmt.Errorf("cannot make one: %v", err)
			}
			return open(link, unix.O_RDWR)()
		}})
	}
	return list
}

// hidden are the escapes to the hidden paths of the folder.
func (b ProbeTarget) hidden() []way {
	if !b.Hides {
		return nil
	}
	file, closed := filepath.Join(b.Room, "hidden"), filepath.Join(b.Room, "closed")
	list := []way{
		{"a hidden file", open(file, unix.O_RDONLY)},
		{"a hidden file, to write", open(file, unix.O_WRONLY)},
		{"a hidden file by the root of this process", open("/proc/self/root"+file, unix.O_RDONLY)},
		{"a file in a hidden folder", func() error {
			err := open(filepath.Join(closed, "hidden"), unix.O_RDONLY)()
			if errors.Is(err, unix.ENOENT) { // the mounted folder is empty
				return unix.EACCES
			}
			return err
		}},
	}
	if b.Writes {
		list = append(list,
			way{"linking a hidden file", func() error { return unix.Link(file, filepath.Join(b.Room, "linked")) }},
			way{"moving a hidden file", func() error { return unix.Rename(file, filepath.Join(b.Room, "moved")) }},
			way{"removing a hidden file", func() error { return unix.Unlink(file) }},
			way{"a hidden file whose folder was moved", func() error {
				dir, to := filepath.Join(b.Room, "above"), filepath.Join(b.Room, "below")
				if err := unix.Rename(dir, to); err != nil {
					return err
				}
				return open(filepath.Join(to, "hidden"), unix.O_RDONLY)()
			}})
	}
	return list
}
