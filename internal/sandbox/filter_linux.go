package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// The filter refuses with EPERM the system calls that Landlock does not cover and sandboxed
// programs do not need. System calls of later kernels fail with ENOSYS, as on an older kernel,
// so that programs fall back.

// kind selects the filter of a sandbox: by writable files and by its network.
type kind struct {
	writes  bool
	network Network
	// thread is the id of the thread that entered the sandbox and starts the commands; 0 for
	// none.
	thread uint32
}

func kindOf(p Policy) kind { return kind{writes: len(p.Write) > 0, network: p.Network} }

// denied are the system calls that are always refused.
func denied(k kind) []uint32 {
	list := deniedAlways()
	if !k.writes {
		list = slices.Concat(list, attributesHere(), attributes, watching)
	}
	return append(list, sockets(k.network)...)
}

// sockets are the refused system calls for sockets. They also block sockets with a path (docker,
// tmux, ssh-agent). Socket pairs remain, as far as [paired] allows them.
func sockets(n Network) []uint32 {
	serving := []uint32{unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4}
	switch n {
	case Online:
		return nil
	case Proxied:
		return serving
	default:
		return append(serving, unix.SYS_SOCKET, unix.SYS_CONNECT)
	}
}

// attributes are system calls for file attributes, which Landlock does not cover.
var attributes = []uint32{
	unix.SYS_FCHMOD,
	unix.SYS_FCHMODAT,
	unix.SYS_FCHMODAT2,
	unix.SYS_FCHOWN,
	unix.SYS_FCHOWNAT,
	unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR,
	unix.SYS_LSETXATTR,
	unix.SYS_FSETXATTR,
	unix.SYS_REMOVEXATTR,
	unix.SYS_LREMOVEXATTR,
	unix.SYS_FREMOVEXATTR,
	sysSetxattrat,
	sysRemovexattrat,
	sysFileSetattr,
}

// watching are the system calls that report changes in folders by name, which Landlock does not
// cover. Commands that change files need them (bundlers, watching compilers); commands that only
// read do not.
var watching = []uint32{unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH}

func deniedAlways() []uint32 {
	return slices.Concat(deniedHere(), []uint32{
		// Access to other processes: their memory, descriptors and control.
		unix.SYS_PTRACE,
		unix.SYS_PROCESS_VM_READV,
		unix.SYS_PROCESS_VM_WRITEV,
		unix.SYS_PIDFD_GETFD,
		unix.SYS_KCMP,
		unix.SYS_PROCESS_MADVISE,
		sysProcessMrelease,
		unix.SYS_MIGRATE_PAGES,
		unix.SYS_MOVE_PAGES,
		unix.SYS_PERF_EVENT_OPEN,
		unix.SYS_SETPRIORITY,
		unix.SYS_IOPRIO_SET,
		// Changes of the mounted files.
		unix.SYS_MOUNT,
		unix.SYS_UMOUNT2,
		unix.SYS_PIVOT_ROOT,
		unix.SYS_CHROOT,
		unix.SYS_MOVE_MOUNT,
		unix.SYS_OPEN_TREE,
		sysOpenTreeAttr,
		unix.SYS_FSOPEN,
		unix.SYS_FSCONFIG,
		unix.SYS_FSMOUNT,
		unix.SYS_FSPICK,
		unix.SYS_MOUNT_SETATTR,
		unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_UNSHARE,
		unix.SYS_SETNS,
		unix.SYS_FANOTIFY_INIT,
		// Kernel facilities.
		unix.SYS_BPF,
		unix.SYS_USERFAULTFD,
		unix.SYS_IO_URING_SETUP,
		unix.SYS_IO_URING_ENTER,
		unix.SYS_IO_URING_REGISTER,
		unix.SYS_KEYCTL,
		unix.SYS_ADD_KEY,
		unix.SYS_REQUEST_KEY,
		unix.SYS_INIT_MODULE,
		unix.SYS_FINIT_MODULE,
		unix.SYS_DELETE_MODULE,
		unix.SYS_KEXEC_LOAD,
		unix.SYS_REBOOT,
		unix.SYS_SWAPON,
		unix.SYS_SWAPOFF,
		unix.SYS_ACCT,
		unix.SYS_QUOTACTL,
		sysQuotactlFD,
		unix.SYS_SYSLOG,
		unix.SYS_SETTIMEOFDAY,
		unix.SYS_CLOCK_SETTIME,
		unix.SYS_CLOCK_ADJTIME,
		unix.SYS_ADJTIMEX,
		unix.SYS_SETHOSTNAME,
		unix.SYS_SETDOMAINNAME,
		// Objects that processes share by a number or a name.
		unix.SYS_SHMGET,
		unix.SYS_SHMAT,
		unix.SYS_SHMCTL,
		unix.SYS_SEMGET,
		unix.SYS_SEMOP,
		unix.SYS_SEMTIMEDOP,
		unix.SYS_SEMCTL,
		unix.SYS_MSGGET,
		unix.SYS_MSGSND,
		unix.SYS_MSGRCV,
		unix.SYS_MSGCTL,
		unix.SYS_MQ_OPEN,
		unix.SYS_MQ_UNLINK,
	})
}

// Numbers that are equal on all machines, and missing in the package unix.
const (
	sysQuotactlFD      = 443
	sysProcessMrelease = 448
	sysSetxattrat      = 463 // Linux 6.13
	sysRemovexattrat   = 466
	sysOpenTreeAttr    = 467 // Linux 6.15
	sysFileSetattr     = 469 // Linux 6.17

	// lastKnown is the newest system call that these lists consider. Newer ones do not exist in
	// the sandbox: they could bypass the lists.
	lastKnown = sysFileSetattr
)

// own are the system calls that are refused if their first argument names another process than
// the caller, which is 0.
var own = []uint32{
	unix.SYS_PRLIMIT64,
	unix.SYS_SCHED_SETAFFINITY,
	unix.SYS_SCHED_SETPARAM,
	unix.SYS_SCHED_SETSCHEDULER,
	unix.SYS_SCHED_SETATTR,
}

// namespaces are the flags of clone(2) that create a namespace.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
	unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// terminals are the numbers of ioctl(2) for terminals and pollable files (asm-generic/ioctls.h),
// without the last two digits.
const terminals = 0x5400

// The results of a filter.
const (
	allow   = unix.SECCOMP_RET_ALLOW
	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	useless = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOTTY)
	kill    = unix.SECCOMP_RET_KILL_PROCESS
)

// Offsets in struct seccomp_data (seccomp(2)); the machines are little-endian.
const (
	atNumber, atArch = 0, 4
	argument         = 16 // and 8 for each argument before it; the low half is first
)

// filter returns the program of a kind; nil on an unknown machine.
func filter(k kind) []unix.SockFilter { return assemble(auditArch, k) }

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func answer(what uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what}
}

// unless skips n instructions if the comparison does not hold.
func unless(comparison uint16, k uint32, n uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, K: k, Jf: n}
}

// when skips n instructions if the loaded value equals k.
func when(k uint32, n uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: n}
}

// mask keeps some bits of the loaded value.
func mask(bits uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: bits}
}

// socketKind masks a socket's type without flags.
const socketKind = 0xf

// paired allows the socket pairs that cannot address another socket: streams and sequenced
// packets. A datagram pair can send and connect to any path, and pass descriptors there; a raw
// pair becomes a datagram pair.
func paired() []unix.SockFilter {
	return []unix.SockFilter{
		unless(unix.BPF_JEQ, unix.SYS_SOCKETPAIR, 8),
		load(argument), unless(unix.BPF_JEQ, unix.AF_UNIX, 4),
		load(argument + 8), mask(socketKind), when(unix.SOCK_STREAM, 2), when(unix.SOCK_SEQPACKET, 1),
		answer(refuse), answer(allow),
	}
}

// proxied allows the system calls to reach a proxy: TCP sockets, which Landlock restricts to its
// port. Landlock does not cover a connection by sent data (TCP fast open), or another protocol
// (MPTCP, SMC), including a later change of a TCP socket (TCP_ULP).
func proxied() []unix.SockFilter {
	p := []unix.SockFilter{
		unless(unix.BPF_JEQ, unix.SYS_SOCKET, 11),
		load(argument),
		when(unix.AF_INET, 1),
		unless(unix.BPF_JEQ, unix.AF_INET6, 6),
		load(argument + 8),
		mask(socketKind),
		unless(unix.BPF_JEQ, unix.SOCK_STREAM, 3),
		load(argument + 16),
		when(0, 2),
		when(unix.IPPROTO_TCP, 1),
		answer(refuse),
		answer(allow),
		unless(unix.BPF_JEQ, unix.SYS_SETSOCKOPT, 6),
		load(
			argument + 8,
		),
		unless(unix.BPF_JEQ, unix.IPPROTO_TCP, 3),
		load(argument + 16),
		unless(unix.BPF_JEQ, unix.TCP_ULP, 1),
		answer(refuse),
		answer(allow),
	}
	for _, call := range []struct{ number, flags uint32 }{{unix.SYS_SENDTO, argument + 24}, {unix.SYS_SENDMSG, argument + 16}, {unix.SYS_SENDMMSG, argument + 24}} {
		p = append(
			p, unless(unix.BPF_JEQ, call.number, 4), load(call.flags), unless(unix.BPF_JSET, unix.MSG_FASTOPEN, 1),
			answer(refuse), answer(allow),
		)
	}
	return p
}

// privilegedModes are the set-user-ID and set-group-ID bits, with which other users would run
// a command's program as this user.
const privilegedModes = unix.S_ISUID | unix.S_ISGID

// modeCall is a system call with a mode, by the numbers of its arguments. One with flags
// uses the mode only if they create a file.
type modeCall struct {
	number      uint32
	mode, flags uint32 // flags is 0 if there are none
}

// privileged refuses modes with set-user-ID and set-group-ID bits. openat2 has its mode in
// memory, where a filter cannot look; programs fall back on openat.
func privileged() []unix.SockFilter {
	p := []unix.SockFilter{unless(unix.BPF_JEQ, unix.SYS_OPENAT2, 1), answer(unknown)}
	calls := append(
		modesHere(), modeCall{unix.SYS_FCHMOD, 1, 0}, modeCall{unix.SYS_FCHMODAT, 2, 0},
		modeCall{unix.SYS_FCHMODAT2, 2, 0}, modeCall{unix.SYS_MKNODAT, 2, 0}, modeCall{unix.SYS_OPENAT, 3, 2},
	)
	const creating = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	for _, c := range calls {
		check := []unix.SockFilter{
			load(argument + 8*c.mode),
			unless(unix.BPF_JSET, privilegedModes, 1),
			answer(refuse),
			answer(allow),
		}
		if c.flags != 0 {
			check = append([]unix.SockFilter{load(argument + 8*c.flags), unless(unix.BPF_JSET, creating, 3)}, check...)
		}
		p = append(append(p, unless(unix.BPF_JEQ, c.number, uint8(len(check)))), check...)
	}
	return p
}

// signals are the system calls that send a signal, or open a process to do so, with the
// argument that names the thread.
var signals = []struct {
	number, thread uint32
}{
	{unix.SYS_KILL, 0},
	{unix.SYS_TKILL, 0},
	{unix.SYS_TGKILL, 1},
	{unix.SYS_RT_SIGQUEUEINFO, 0},
	{unix.SYS_RT_TGSIGQUEUEINFO, 1},
	{unix.SYS_PIDFD_OPEN, 0},
}

// unsignaled refuses signals to the thread that entered the sandbox. Its process watches the
// command and is outside, but Landlock looks at the sandbox of the named thread.
func unsignaled(thread uint32) (p []unix.SockFilter) {
	for _, c := range signals {
		p = append(
			p, unless(unix.BPF_JEQ, c.number, 4), load(argument+8*c.thread), unless(unix.BPF_JEQ, thread, 1),
			answer(refuse), answer(allow),
		)
	}
	return p
}

// deleg is the command of fcntl(2) for leases of folders (Linux 6.19).
const deleg = 1024 + 16

// unleased refuses the commands of fcntl(2) that delay or watch other processes through a file
// that is only read: leases, and signals about changes in a folder.
func unleased() []unix.SockFilter {
	return []unix.SockFilter{
		unless(unix.BPF_JEQ, unix.SYS_FCNTL, 6), load(argument + 8),
		when(unix.F_SETLEASE, 2), when(deleg, 1), unless(unix.BPF_JEQ, unix.F_NOTIFY, 1),
		answer(refuse), answer(allow),
	}
}

func assemble(arch uint32, k kind) []unix.SockFilter {
	if arch == 0 {
		return nil
	}
	p := []unix.SockFilter{
		load(atArch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: arch, Jt: 1},
		answer(kill),
		load(atNumber),
	}
	p = append(p, unless(unix.BPF_JGT, lastKnown, 1), answer(unknown)) // also for x32 on x86-64, which sets bit 30
	for _, number := range denied(k) {
		p = append(p, unless(unix.BPF_JEQ, number, 1), answer(refuse))
	}
	// clone3 has its flags in memory, which a filter cannot read; libraries fall back to clone.
	p = append(p, unless(unix.BPF_JEQ, unix.SYS_CLONE3, 1), answer(unknown))
	p = append(
		p, unless(unix.BPF_JEQ, unix.SYS_CLONE, 4), load(argument), unless(unix.BPF_JSET, namespaces, 1),
		answer(refuse), answer(allow),
	)
	// A descriptor for reading is enough for many ioctls of file systems (flags, snapshots,
	// verity). Only terminal and pipe ioctls remain, without the one that injects input into a
	// terminal.
	p = append(p, unless(unix.BPF_JEQ, unix.SYS_IOCTL, 9), load(argument+8),
		unless(unix.BPF_JEQ, unix.TIOCSTI, 1), answer(refuse), unless(unix.BPF_JEQ, unix.TIOCLINUX, 1), answer(refuse),
		mask(0xffffff00), unless(unix.BPF_JEQ, terminals, 1), answer(allow), answer(useless))
	p = append(p, unleased()...)
	if k.thread != 0 {
		p = append(p, unsignaled(k.thread)...)
	}
	if k.network != Online {
		p = append(p, paired()...)
	}
	if k.network == Proxied {
		p = append(p, proxied()...)
	}
	for _, number := range own {
		p = append(
			p, unless(unix.BPF_JEQ, number, 4), load(argument), unless(unix.BPF_JEQ, 0, 1), answer(allow),
			answer(refuse),
		)
	}
	if k.writes {
		p = append(p, privileged()...)
	}
	return append(p, answer(allow))
}
