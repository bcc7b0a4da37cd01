//go:build !linux

package main

// obeyTerminal does nothing on this system: no supervisor continues a process that a
// terminal has stopped.
func obeyTerminal(<-chan struct{}) {}
