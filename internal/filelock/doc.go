// Package filelock takes the kernel's locks on files. They end with the process
// that has them, however it ends.
package filelock
