//go:build unix

package disk

import "syscall"

// nonblock makes open of a FIFO without a writer, and reads of files such as
// /proc/kmsg, return at once.
const nonblock = syscall.O_NONBLOCK
