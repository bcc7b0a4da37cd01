package leak

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/test/setsid"
)

func TestMain(m *testing.M) {
	setsid.Command()
	os.Exit(Run(setsid.With(m)))
}

// tests are some that leave something.
type tests func() int

func (f tests) Run() int { return f() }

// short is the wait for something that does not come.
const short = 50 * time.Millisecond

func runTests(f func() int) (code int, said string) {
	var out bytes.Buffer
	code = run(tests(f), &out, short)
	return code, out.String()
}

func TestNothingIsLeft(t *testing.T) {
	code, said := runTests(func() int {
		done := make(chan struct{})
		go close(done) // waited for
		<-done
		return 0
	})
	if code != 0 || said != "" {
		t.Errorf("exit code %d: %s", code, said)
	}
}

func TestGoroutineIsLeft(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	code, said := runTests(func() int {
		go func() { <-release }() // ends with the test
		return 0
	})
	if code != 1 || !strings.Contains(said, "left 1 things behind") || !strings.Contains(said, "TestGoroutineIsLeft") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// The count waits for goroutines that are about to end.
func TestGoroutineEndsLater(t *testing.T) {
	code := run(tests(func() int {
		timer := time.NewTimer(short)
		go func() { <-timer.C }() // ends with the timer
		return 0
	}), t.Output(), time.Minute)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A failure is reason enough to fail; its leaks are a consequence.
func TestFailure(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	code, said := runTests(func() int {
		go func() { <-release }() // ends with the test
		return 3
	})
	if code != 3 || said != "" {
		t.Errorf("exit code %d: %s", code, said)
	}
}

func TestWhatWasThereDoesNotCount(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	started := make(chan struct{})
	go func() { // ends with the test
		close(started)
		<-release
	}()
	<-started
	if left := Begin().Left(0); len(left) > 0 {
		t.Errorf("it counts %q", left)
	}
}
