package execservertest

import (
	"os"
	"strings"
	"time"
)

// Escape is an attempt to escape process tracking: a shell command that leaves a process
// running after the foreground process.
type Escape struct{ Name, Command string }

// Escapes are the attempts that measure process tracking. $DIR is a folder, in which
// "subreaper" is the test binary; see package setsid.
func Escapes() []Escape {
	return []Escape{
		{"plain", ":"},
		{"ampersand", "sleep 1000 &"},
		{"nohup", "nohup sleep 1000 >/dev/null 2>&1 &"},
		{"setsid", "setsid sleep 1000 &"},
		{"double fork", "(setsid sh -c '(setsid sleep 1000 &)' &)"},
		{"ignores signals", "(trap '' TERM INT HUP; sleep 1000 & sleep 1000) &"},
		{"fork chain", `chain() { if [ "$1" -gt 0 ]; then chain $(($1-1)) & else sleep 1000; fi; }; chain 300 &`},
		{
			"fork chain of sessions",
			`echo 'if [ "$1" -gt 0 ]; then setsid sh "$0" $(($1-1)) & else exec sleep 1000; fi' >"$DIR/chain"; sh "$DIR/chain" 200 &`,
		},
		{"nested subreaper", `"$DIR/subreaper" sh -c '(setsid sleep 1000 &); sleep 1000' &`},
		{"holds stdout", "sh -c 'sleep 1000 & exec sleep 1000' &"},
		{"closes everything", "sh -c 'exec <&- >&- 2>&-; sleep 1000' &"},
		{"stopped", "sleep 1000 & kill -STOP $!"},
		{"tree 50 deep", `echo '[ "$1" -gt 0 ] && sh "$0" $(($1-1)); sleep 1000' >"$DIR/deep"; sh "$DIR/deep" 50 &`},
		{"zombies", "sh -c 'true & true & true & exec sleep 1000' &"},
	}
}

// Foreground is the foreground part of each escape script, after the part that leaves processes
// behind.
const Foreground = "\necho ready; while :; do sleep 1000; done"

// MarkVariable marks a process in its environment, so that a test can find it.
const MarkVariable = "EXECSERVER_TEST"

// Survivors returns the processes with the mark, as "pid command". It looks several
// times: a look can miss who forks and exits all the time.
func Survivors(mark string) (found []string) {
	looked := map[string]bool{}
	for range 20 {
		entries, _ := os.ReadDir("/proc")
		for _, entry := range entries {
			pid := entry.Name()
			if looked[pid] {
				continue
			}
			environ, err := os.ReadFile("/proc/" + pid + "/environ")
			looked[pid] = err != nil || len(environ) > 0 // it is empty for a moment while a program begins
			if err == nil && strings.Contains("\x00"+string(environ), "\x00"+MarkVariable+"="+mark+"\x00") {
				line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
				found = append(found, pid+" "+strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))
			}
		}
	}
	return found
}

// AwaitNone waits until no process has the mark. It returns the processes that still have it when
// the time is over.
func AwaitNone(mark string, within time.Duration) (left []string) {
	tick := time.NewTicker(10 * time.Millisecond) // the operating system does not report it
	defer tick.Stop()
	deadline := time.After(within)
	for {
		if left = Survivors(mark); len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline:
			return left
		}
	}
}

// Start is the request that starts a shell command in a folder under a mark.
func Start(id, command, dir, mark string) map[string]any {
	return map[string]any{
		"processId": id,
		"argv":      []string{"sh", "-c", command},
		"cwd":       "file://" + dir,
		"tty":       false,
		"pipeStdin": false,
		"arg0":      nil,
		"env":       map[string]string{"PATH": os.Getenv("PATH"), "DIR": dir, MarkVariable: mark},
	}
}
