package leak

import (
	"runtime"
	"strings"
)

// goroutines returns the stacks of all goroutines but this one, by their ids.
// They are separated by empty lines, and the first of each begins with
// "goroutine 12 [select]:".
func goroutines() map[string]string {
	buf := make([]byte, 64<<10)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	all := map[string]string{}
	stacks := strings.Split(strings.TrimSpace(string(buf[:n])), "\n\n")
	for _, stack := range stacks[1:] { // the first is the current goroutine
		if words := strings.Fields(stack); len(words) > 1 && words[0] == "goroutine" {
			all[words[1]] = stack
		}
	}
	return all
}

// keptByGo reports whether the goroutine is one that Go's own packages keep
// once they have been used.
func keptByGo(stack string) bool {
	for _, function := range []string{
		"os/signal.loop(",       // the first signal.Notify
		"os/signal.signal_recv", // where the runtime waits for it
		"runtime.ensureSigM",
		"runtime/pprof.profileWriter",
	} {
		if strings.Contains(stack, "\n"+function) || strings.Contains(stack, "\ncreated by "+function) {
			return true
		}
	}
	return false
}
