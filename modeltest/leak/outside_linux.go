package leak

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// markVar is in the environment of the processes that are counted.
const markVar = "MODELTEST_LEAK"

// outside holds the descriptors of the process, its children and the processes with its mark, at
// one time.
type outside struct {
	descriptors map[string]string // target of each descriptor
	processes   map[string]string // command of each process, by PID
	mark        string
}

func beginOutside() outside {
	value := fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())
	o := outside{mark: markVar + "=" + value}
	_ = os.Setenv(markVar, value) // fails only for names that are none
	o.descriptors, o.processes = descriptors(), o.running()
	return o
}

func (o outside) left() []string {
	var left []string
	for fd, target := range descriptors() {
		if o.descriptors[fd] != target {
			left = append(left, fmt.Sprintf("descriptor %s: %s", fd, target))
		}
	}
	for pid, command := range o.running() {
		if _, was := o.processes[pid]; !was {
			left = append(left, fmt.Sprintf("process %s: %s", pid, command))
		}
	}
	return left
}

// descriptors returns the targets of the open descriptors, without the descriptors that the runtime
// keeps after its first wait.
func descriptors() map[string]string {
	all := map[string]string{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err != nil || target == "anon_inode:[eventpoll]" || target == "anon_inode:[eventfd]" {
			continue // among them the descriptor of this listing
		}
		all[entry.Name()] = target
	}
	return all
}

// running returns the command lines of this process's children, and of every
// process that has its mark.
func (o outside) running() map[string]string {
	all := map[string]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid := filepath.Base(dir)
		if pid == strconv.Itoa(os.Getpid()) {
			continue
		}
		state, parent := status(dir)
		if parent == strconv.Itoa(os.Getpid()) || state != "Z" && o.marked(dir) {
			line, _ := os.ReadFile(dir + "/cmdline") // empty if it is gone, or a zombie
			all[pid] = state + " " + strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return all
}

func (o outside) marked(dir string) bool {
	environ, err := os.ReadFile(dir + "/environ")
	return err == nil && slices.Contains(strings.Split(string(environ), "\x00"), o.mark)
}

// status returns the process's state and its parent, which follow the name in
// parentheses (proc_pid_stat(5)).
func status(dir string) (state, parent string) {
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return "", ""
	}
	text := string(stat)
	words := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(words) < 2 {
		return "", ""
	}
	return words[0], words[1]
}
