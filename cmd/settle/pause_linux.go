package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/settle-agent/settle/internal/proc"
)

// obeyTerminal lets a terminal stop the command as ever (Ctrl-Z, or what is in
// the background and wants the terminal), and nobody else: where a command of
// the model sends SIGSTOP, a warden wakes the process. It ends with released.
func obeyTerminal(released <-chan struct{}) {
	proc.KeepAwake()
	caught := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
		if !signal.Ignored(sig) {
			signal.Notify(caught, sig)
		}
	}
	go func() { // ends with released, or with the process
		defer signal.Stop(caught)
		for {
			select {
			case <-caught:
				proc.Pause()
			case <-released:
				return
			}
		}
	}()
}
