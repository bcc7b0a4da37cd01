package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// The filter refuses with EPERM what Landlock does not know and a program in the
// box does not need. What is new in later kernels is not refused: the rest of the
// box has to hold against it.

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
		list = slices.Concat(list, attributesHere(), attributes)
	}
	switch k.network {
	case Online:
	case Proxied:
		list = append(list, unix.SYS_LISTEN) // Landlock knows who binds, and not who listens at whatever port there is
	default:
		// With what listens behind a path (docker, tmux, ssh-agent). Pairs of
		// sockets are harmless.
		list = append(list, unix.SYS_SOCKET)
	}
	return list
}

// attributes are of files, beside their content, which Landlock does not know.
var attributes = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
	sysSetxattrat, sysRemovexattrat, sysFileSetattr,
}

func deniedAlways() []uint32 {
	return slices.Concat(deniedHere(), []uint32{
		// Other processes: their memory, descriptors and handling.
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE,
		unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_PERF_EVENT_OPEN, unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET,
		// Another view of the files.
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
		unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_FANOTIFY_INIT,
		// The kernel.
		unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_KEYCTL, unix.SYS_ADD_KEY,
		unix.SYS_REQUEST_KEY, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON,
		unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME,
		unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
		// What others on the machine share by a number or a name.
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MSGGET,
		unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	})
}

// Numbers that are the same everywhere, and newer than the package unix.
const (
	sysSetxattrat    = 463 // Linux 6.13
	sysRemovexattrat = 466
	sysFileSetattr   = 469 // Linux 6.17
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

// mask keeps some bits of what was loaded.
func mask(bits uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: bits}
}

// proxied lets through what it takes to reach a proxy: sockets for TCP, which
// Landlock confines to its port. It does not see who connects by what he sends at
// once (TCP fast open), nor another protocol (MPTCP, SMC).
func proxied() []unix.SockFilter {
	const socketKind = 0xf // the rest of it are flags
	jump := func(k uint32, yes uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes}
	}
	p := []unix.SockFilter{
		unless(unix.BPF_JEQ, unix.SYS_SOCKET, 11),
		load(argument), jump(unix.AF_INET, 1), unless(unix.BPF_JEQ, unix.AF_INET6, 6),
		load(argument + 8), mask(socketKind), unless(unix.BPF_JEQ, unix.SOCK_STREAM, 3),
		load(argument + 16), jump(0, 2), jump(unix.IPPROTO_TCP, 1),
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
	if x32 != 0 {
		p = append(p, unless(unix.BPF_JGE, x32, 1), answer(unknown))
	}
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
	if k.network == Proxied {
		p = append(p, proxied()...)
	}
	for _, number := range own {
		p = append(p, unless(unix.BPF_JEQ, number, 4), load(argument), unless(unix.BPF_JEQ, 0, 1), answer(allow), answer(refuse))
	}
	return append(p, answer(allow))
}
