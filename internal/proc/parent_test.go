//go:build unix

package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// roleVar makes the test binary, executed again, the parent or the child of TestParent.
const roleVar = "WATCH_TEST_ROLE"

func init() {
	switch os.Getenv(roleVar) {
	case "parent":
		os.Exit(dyingParent())
	case "child":
		os.Exit(watchingChild())
	}
}

// dyingParent starts a child and dies when that watches.
func dyingParent() int {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=child")
	cmd.Stdout = os.Stdout // for after the parent's death
	watching, err := cmd.StderrPipe()
	if err != nil || cmd.Start() != nil {
		return 1
	}
	if _, err := bufio.NewReader(watching).ReadString('\n'); err != nil {
		return 1
	}
	return 0
}

// watchingChild prints the end of its parent.
func watchingChild() int {
	gone := make(chan error, 1)
	defer Parent(func(err error) { gone <- err })()
	fmt.Fprintln(os.Stderr, "watching")
	fmt.Println(<-gone)
	return 0
}

// A client that is killed is missed, though nothing is written to it.
func TestParent(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(out) // until the child has ended as well
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(said)); got != ErrParent.Error() {
		t.Errorf("the child said %q", got)
	}
}

func TestParentThatLives(t *testing.T) {
	stop := Parent(func(err error) { t.Error(err) })
	stop()
}
