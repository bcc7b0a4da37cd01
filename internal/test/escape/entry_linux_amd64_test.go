package escape

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// otherEntries are the other sets of system calls of this processor.
func otherEntries() []attempt {
	return []attempt{
		{name: "a socket by the x32 entry", when: offline, try: func(prey, string) error {
			const x32 = 0x40000000
			return number(x32|unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0)
		}},
		{name: "the i386 entry", try: func(prey, string) error { return becomes("/proc/self/exe", i386, 0) }},
	}
}

// i386 has a child enter the kernel as a 32-bit program does.
const i386 = "i386"

// callI386 calls getppid(2) by int 0x80: the filter ends the process.
func callI386() error {
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Munmap(code) }()
	copy(code, []byte{0xb8, 64, 0, 0, 0, 0xcd, 0x80, 0xc3}) // mov $64, %eax; int $0x80; ret
	entry := &code[0]
	var call func() uintptr
	*(*unsafe.Pointer)(unsafe.Pointer(&call)) = unsafe.Pointer(&entry)
	call()
	return nil
}

func playI386() int {
	if err := callI386(); errors.Is(err, unix.EPERM) {
		return 1
	}
	return 0
}
