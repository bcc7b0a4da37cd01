//go:build unix

package oneturn

import "syscall"

// notWaiting opens a pipe that nobody reads as an error.
const notWaiting = syscall.O_NONBLOCK | syscall.O_NOCTTY
