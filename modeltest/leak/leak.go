package leak

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	// patience bounds the wait for goroutines and processes that are about to end.
	patience = 10 * time.Second
	// lookDelay is the time between two looks.
	lookDelay = 5 * time.Millisecond
)

// Tests are the tests of a package; [*testing.M] is that.
type Tests interface{ Run() int }

// Run runs the tests and returns their exit code. If they passed and left something behind, it
// reports that on standard error and returns 1. It does not check failed tests and fuzzed tests.
func Run(m Tests) int { return run(m, os.Stderr, patience) }

func run(m Tests, to io.Writer, patience time.Duration) int {
	c := Begin()
	code := m.Run()
	if code != 0 || fuzzed() {
		return code
	}
	left := c.Left(patience)
	if len(left) == 0 {
		return code
	}
	_, _ = fmt.Fprintf(to, "the tests left %d things behind:\n%s\n", len(left), strings.Join(left, "\n"))
	return 1
}

// fuzzed reports whether the engine runs, which keeps workers.
func fuzzed() bool {
	for _, name := range []string{"test.fuzz", "test.fuzzworker"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			return true
		}
	}
	return false
}

// Count is the set of goroutines, descriptors and processes at its beginning.
type Count struct {
	goroutines map[string]string // by their ids
	outside    outside
}

// Begin records the current goroutines, descriptors and processes. It marks the processes that this
// process starts from now on in their environment.
func Begin() *Count {
	return &Count{goroutines: goroutines(), outside: beginOutside()}
}

// Left returns the goroutines, descriptors and processes that are new since the beginning, each in
// some lines of text. It waits until there are none, but no longer than patience.
func (c *Count) Left(patience time.Duration) []string {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	look := time.NewTicker(lookDelay)
	defer look.Stop()
	for {
		left := c.left()
		if len(left) == 0 {
			return nil
		}
		select {
		case <-look.C:
		case <-deadline.C:
			return left
		}
	}
}

func (c *Count) left() []string {
	http.DefaultClient.CloseIdleConnections() // kept for the life of the process
	var left []string
	for id, stack := range goroutines() {
		if _, was := c.goroutines[id]; !was && !keptByGo(stack) {
			left = append(left, stack)
		}
	}
	return append(left, c.outside.left()...)
}
