package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// probe searches for keys as a malicious command would: in everything that it can read of each
// process in /proc. Its arguments are the keys, backwards, so that it does not find itself.
func probe() {
	var needles [][]byte
	for _, arg := range os.Args[1:] {
		needles = append(needles, backwards(arg))
	}
	pids, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range pids {
		if dir == "/proc/"+strconv.Itoa(os.Getpid()) {
			continue
		}
		name, _ := os.ReadFile(dir + "/comm")
		for _, file := range []string{"environ", "cmdline"} {
			raw, _ := os.ReadFile(dir + "/" + file)
			report(raw, needles, name, file)
		}
		if !bytes.HasPrefix(name, []byte("settle")) && !bytes.HasPrefix(name, []byte("sleep")) {
			continue // to read the memory of all takes long
		}
		for _, raw := range memory(dir) {
			report(raw, needles, name, "mem")
		}
	}
	fmt.Println("probed", len(pids) > 2)
}

func backwards(s string) []byte {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return b
}

func report(raw []byte, needles [][]byte, name []byte, file string) {
	for n, needle := range needles {
		if bytes.Contains(raw, needle) {
			fmt.Printf("FOUND %d in %s of %s\n", n, file, bytes.TrimSpace(name))
		}
	}
}

// memory returns the readable parts of a process's writable memory.
func memory(dir string) (all [][]byte) {
	maps, err := os.Open(dir + "/maps")
	if err != nil {
		return nil
	}
	defer maps.Close()
	mem, err := os.Open(dir + "/mem")
	if err != nil {
		return nil
	}
	defer mem.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to int64
		var mode string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &mode); err != nil ||
			!strings.HasPrefix(mode, "rw") ||
			to-from > 64<<20 {
			continue
		}
		raw, _ := io.ReadAll(io.NewSectionReader(mem, from, to-from))
		all = append(all, raw)
	}
	return all
}
