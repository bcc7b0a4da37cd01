package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/settle-agent/settle/internal/proc"
)

// obeyTerminal lets the terminal stop settle (Ctrl-Z, or terminal access from the
// background). Supervisors continue settle after any other SIGSTOP, for example from a
// command of the model. It ends with released.
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
