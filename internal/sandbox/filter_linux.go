package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// The filter refuses with EPERM what Landlock does not know and a program in the
// sandbox does not need. System calls of later kernels fail with ENOSYS, as on an older
// kernel: programs fall back.

// kind is which filter a box has: by whether it changes files, and whether it has
// the network.
type kind struct {
	writes  bool
	network Network
}

func kindOf(p Policy) kind { return kind{writes: len(p.Write) > 0, network: p.Network} }

// denied are the system calls that are refused whatever their arguments.
func denied(k kind) []uint32 {
	list := deniedAlways()
	if !k.writes {
		list = slices.Concat(list, attributesHere(), attributes, watching)
	}
	return append(list, sockets(k.network)...)
}

// sockets are the system calls for sockets that a network does not need at all. What
// listens behind a path (docker, tmux, ssh-agent) is out of reach as well. Pairs of
// sockets remain, as far as [paired] lets them.
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

// attributes are of files, beside their content, which Landlock does not know.
var attributes = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
	sysSetxattrat, sysRemovexattrat, sysFileSetattr,
}

// watching is what tells of changes in folders, by name, which Landlock does not know.
// Commands that change files need it (bundlers, compilers that wait); those that only
// read do not.
var watching = []uint32{unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH}

func deniedAlways() []uint32 {
	return slices.Concat(deniedHere(), []uint32{
		// Other processes: their memory, descriptors and handling.
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE,
		sysProcessMrelease, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_PERF_EVENT_OPEN, unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET,
		// Another view of the files.
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, sysOpenTreeAttr,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
		unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_FANOTIFY_INIT,
		// The kernel.
		unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_KEYCTL, unix.SYS_ADD_KEY,
		unix.SYS_REQUEST_KEY, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON,
		unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, sysQuotactlFD, unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME,
		unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
		// What others on the machine share by a number or a name.
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MSGGET,
		unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	})
}

// Numbers that are the same everywhere, and newer than the package unix.
const (
	sysQuotactlFD      = 443
	sysProcessMrelease = 448
	sysSetxattrat      = 463 // Linux 6.13
	sysRemovexattrat   = 466
	sysOpenTreeAttr    = 467 // Linux 6.15
	sysFileSetattr     = 469 // Linux 6.17

	// lastKnown is the newest system call that these lists were made for. What is
	// newer does not exist in the sandbox: it could be another way to one of them.
	lastKnown = sysFileSetattr
)

// own are the system calls that are refused if their first argument names
// another process than the caller, which is 0.
var own = []uint32{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETATTR}

// namespaces are the flags of clone(2) that make another view of the machine.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
	unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// terminals are the numbers of ioctl(2) for terminals, and for all that can be
// waited for (asm-generic/ioctls.h); the last two digits tell them apart.
const terminals = 0x5400

// What a filter answers.
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
	argument         = 16 // and 8 for each one before it; the low half comes first
)

// filter is the program of a kind; nil where the machine is not known.
func filter(k kind) []unix.SockFilter { return assemble(auditArch, k) }

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func answer(what uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what}
}

// unless skips n instructions unless the comparison holds.
func unless(comparison uint16, k uint32, n uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, K: k, Jf: n}
}

// when skips n instructions when what was loaded equals k.
func when(k uint32, n uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: n}
}

// mask keeps some bits of what was loaded.
func mask(bits uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: bits}
}

// socketKind is what a socket's type has beside flags.
const socketKind = 0xf

// paired lets through the pairs of sockets that cannot be addressed elsewhere: of streams,
// and of sequences of packets. One for datagrams sends and connects to whatever has a
// path, and passes descriptors there; a raw one becomes one for datagrams.
func paired() []unix.SockFilter {
	return []unix.SockFilter{
		unless(unix.BPF_JEQ, unix.SYS_SOCKETPAIR, 8),
		load(argument), unless(unix.BPF_JEQ, unix.AF_UNIX, 4),
		load(argument + 8), mask(socketKind), when(unix.SOCK_STREAM, 2), when(unix.SOCK_SEQPACKET, 1),
		answer(refuse), answer(allow),
	}
}

// proxied lets through what it takes to reach a proxy: sockets for TCP, which
// Landlock confines to its port. It does not see who connects by what he sends at
// once (TCP fast open), nor another protocol (MPTCP, SMC), also where a TCP socket is made
// one later (TCP_ULP).
func proxied() []unix.SockFilter {
	p := []unix.SockFilter{
		unless(unix.BPF_JEQ, unix.SYS_SOCKET, 11),
		load(argument), when(unix.AF_INET, 1), unless(unix.BPF_JEQ, unix.AF_INET6, 6),
		load(argument + 8), mask(socketKind), unless(unix.BPF_JEQ, unix.SOCK_STREAM, 3),
		load(argument + 16), when(0, 2), when(unix.IPPROTO_TCP, 1),
		answer(refuse), answer(allow),
		unless(unix.BPF_JEQ, unix.SYS_SETSOCKOPT, 6),
		load(argument + 8), unless(unix.BPF_JEQ, unix.IPPROTO_TCP, 3), load(argument + 16), unless(unix.BPF_JEQ, unix.TCP_ULP, 1),
		answer(refuse), answer(allow),
	}
	for _, call := range []struct{ number, flags uint32 }{{unix.SYS_SENDTO, argument + 24}, {unix.SYS_SENDMSG, argument + 16}, {unix.SYS_SENDMMSG, argument + 24}} {
		p = append(p, unless(unix.BPF_JEQ, call.number, 4), load(call.flags), unless(unix.BPF_JSET, unix.MSG_FASTOPEN, 1), answer(refuse), answer(allow))
	}
	return p
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
	p = append(p, unless(unix.BPF_JGT, lastKnown, 1), answer(unknown)) // x32 on x86-64 as well, which sets bit 30
	for _, number := range denied(k) {
		p = append(p, unless(unix.BPF_JEQ, number, 1), answer(refuse))
	}
	// clone3 has its flags in memory, where a filter cannot look; everybody
	// falls back on clone.
	p = append(p, unless(unix.BPF_JEQ, unix.SYS_CLONE3, 1), answer(unknown))
	p = append(p, unless(unix.BPF_JEQ, unix.SYS_CLONE, 4), load(argument), unless(unix.BPF_JSET, namespaces, 1), answer(refuse), answer(allow))
	// A descriptor for reading is enough for much that file systems do by ioctl
	// (flags, snapshots, verity). What is left is about terminals and pipes; and
	// what is typed into a terminal is a command of whoever reads it next.
	p = append(p, unless(unix.BPF_JEQ, unix.SYS_IOCTL, 9), load(argument+8),
		unless(unix.BPF_JEQ, unix.TIOCSTI, 1), answer(refuse), unless(unix.BPF_JEQ, unix.TIOCLINUX, 1), answer(refuse),
		mask(0xffffff00), unless(unix.BPF_JEQ, terminals, 1), answer(allow), answer(useless))
	if k.network != Online {
		p = append(p, paired()...)
	}
	if k.network == Proxied {
		p = append(p, proxied()...)
	}
	for _, number := range own {
		p = append(p, unless(unix.BPF_JEQ, number, 4), load(argument), unless(unix.BPF_JEQ, 0, 1), answer(allow), answer(refuse))
	}
	return append(p, answer(allow))
}
