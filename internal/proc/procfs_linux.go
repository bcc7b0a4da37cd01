package proc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
)

// node is a process as /proc reports it.
type node struct {
	pid, parent, group, session int

	state   byte   // R, S, D, T, Z, …
	started uint64 // ticks since boot; pid and started identify a process for good
}

func (n node) zombie() bool { return n.state == 'Z' || n.state == 'X' }

// readProcess reads one process; false if it has ended.
func readProcess(pid int) (node, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return node{}, false
	}
	// The name is in parentheses and can have any character: see proc(5).
	end := bytes.LastIndexByte(raw, ')')
	if end < 0 {
		return node{}, false
	}
	fields := strings.Fields(string(raw[end+1:]))
	if len(fields) < 20 {
		return node{}, false
	}
	number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n }
	started, _ := strconv.ParseUint(fields[19], 10, 64)
	return node{
		pid: pid, state: fields[0][0], parent: number(1), group: number(2), session: number(3),
		started: started,
	}, true
}

// descendants returns the current descendants of a process, parents first. It can miss processes
// that fork and die meanwhile; callers that need all of them repeat it.
func descendants(root int) []node {
	if !kernelListsChildren() {
		return descendantsOf(root, allProcesses())
	}
	var found []node
	queue := listedChildren(root)
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		if n, ok := readProcess(pid); ok {
			found = append(found, n)
			queue = append(queue, listedChildren(pid)...)
		}
	}
	return found
}

// kernelListsChildren reports whether the kernel lists the children of each thread
// (CONFIG_PROC_CHILDREN), which is independent of the number of processes.
func kernelListsChildren() bool {
	pid := strconv.Itoa(ownPID())
	_, err := os.Stat("/proc/" + pid + "/task/" + pid + "/children")
	return err == nil
}

// children returns the children of a process.
func children(pid int) []int {
	if !kernelListsChildren() {
		var list []int
		for _, n := range allProcesses() {
			if n.parent == pid {
				list = append(list, n.pid)
			}
		}
		return list
	}
	return listedChildren(pid)
}

func listedChildren(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []int
	for _, task := range tasks {
		raw, err := os.ReadFile(dir + "/" + task.Name() + "/children")
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(raw)) {
			if pid, err := strconv.Atoi(field); err == nil {
				list = append(list, pid)
			}
		}
	}
	return list
}

func allProcesses() []node {
	var all []node
	for _, pid := range allPIDs() {
		if n, ok := readProcess(pid); ok {
			all = append(all, n)
		}
	}
	return all
}

func allPIDs() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func descendantsOf(root int, all []node) []node {
	byParent := make(map[int][]node, len(all))
	for _, n := range all {
		byParent[n.parent] = append(byParent[n.parent], n)
	}
	found := slices.Clone(byParent[root])
	for i := 0; i < len(found); i++ {
		found = append(found, byParent[found[i].pid]...)
	}
	return found
}

// withoutZombies returns the processes that are not dead.
func withoutZombies(nodes []node) []node {
	kept := nodes[:0:0]
	for _, n := range nodes {
		if !n.zombie() {
			kept = append(kept, n)
		}
	}
	return kept
}

const maxCommand = 200 // bytes of a command line in a report

// describe names processes in reports.
func describe(nodes []node, why func(node) string) []event.Process {
	var list []event.Process
	for _, n := range nodes {
		list = append(list, event.Process{PID: n.pid, Command: commandLine(n.pid), Why: why(n)})
	}
	return list
}

func noReason(node) string { return "" }

func commandLine(pid int) string {
	base := "/proc/" + strconv.Itoa(pid)
	raw, err := os.ReadFile(base + "/cmdline")
	if err != nil || len(raw) == 0 {
		raw, _ = os.ReadFile(base + "/comm")
	}
	raw = bytes.TrimRight(raw, "\x00\n")
	if len(raw) > maxCommand {
		raw = append(raw[:maxCommand:maxCommand], "…"...)
	}
	return strings.ToValidUTF8(string(bytes.ReplaceAll(raw, []byte{0}, []byte{' '})), "\uFFFD")
}

// kill signals exactly the process that was read, even if the kernel has reused its number.
func kill(n node, sig unix.Signal) error {
	if inNamespace() {
		return killThrough(n, sig)
	}
	fd, err := unix.PidfdOpen(n.pid, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EMFILE) {
		return unix.Kill(n.pid, sig) // no such call: before 5.3, or filtered
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if now, ok := readProcess(n.pid); !ok || now.started != n.started {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// terminate sends TERM to each process, and continues stopped ones. It returns the processes
// that the user may not signal.
func terminate(nodes []node) (denied []node) {
	for _, n := range nodes {
		if errors.Is(kill(n, unix.SIGTERM), unix.EPERM) {
			denied = append(denied, n)
		}
		if n.state == 'T' {
			_ = kill(n, unix.SIGCONT)
		}
	}
	return denied
}

// destroy kills each process, by group first: a signal reaches all members of a group in one
// step, so that no member forks away. A group lies within one session, and the tree itself made
// all sessions here. In a process namespace, one signal kills all processes. The result is the
// processes that the user may not signal.
func destroy(nodes []node) (denied []node) {
	if inNamespace() {
		_ = unix.Kill(-1, unix.SIGKILL) // all of the namespace except its first process
	} else {
		destroyGroups(nodes)
	}
	for _, n := range nodes {
		// A group's signal succeeds if it reaches one member. Only a signal to the process
		// itself reports a missing permission.
		if errors.Is(kill(n, unix.SIGKILL), unix.EPERM) {
			denied = append(denied, n)
		}
	}
	return denied
}

func destroyGroups(nodes []node) {
	own := unix.Getpgrp()
	groups := make(map[int]bool)
	for _, n := range nodes {
		if n.group > 1 && n.group != own && !groups[n.group] {
			groups[n.group] = true
			_ = unix.Kill(-n.group, unix.SIGKILL)
		}
	}
}
