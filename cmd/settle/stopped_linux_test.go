package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

// awaitStopped waits until a child of this process is stopped.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	if err != nil || !strings.Contains(string(stat), ") T ") {
		t.Fatalf("%v: %s", err, stat)
	}
}
