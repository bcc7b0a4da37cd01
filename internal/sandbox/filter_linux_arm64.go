package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// deniedHere are the system calls that not every machine has.
func deniedHere() []uint32 { return []uint32{unix.SYS_KEXEC_FILE_LOAD} }

func attributesHere() []uint32 { return nil }

func modesHere() []modeCall { return nil }
