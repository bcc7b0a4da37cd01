package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// deniedHere are older system calls of this machine only.
func deniedHere() []uint32 {
	return []uint32{
		unix.SYS_KEXEC_FILE_LOAD, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT,
	}
}

// attributesHere are older system calls of this machine that change attributes, or watch.
func attributesHere() []uint32 {
	return []uint32{
		unix.SYS_INOTIFY_INIT,
		unix.SYS_CHMOD,
		unix.SYS_CHOWN,
		unix.SYS_LCHOWN,
		unix.SYS_UTIME,
		unix.SYS_UTIMES,
		unix.SYS_FUTIMESAT,
	}
}

// modesHere are the older forms that take a mode.
func modesHere() []modeCall {
	return []modeCall{{unix.SYS_CHMOD, 1, 0}, {unix.SYS_CREAT, 1, 0}, {unix.SYS_MKNOD, 1, 0}, {unix.SYS_OPEN, 2, 1}}
}
