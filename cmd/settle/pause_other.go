//go:build !linux

package main

// obeyTerminal has nothing to do here: there are no wardens that would wake a
// process that a terminal has stopped.
func obeyTerminal(<-chan struct{}) {}
