package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"
)

// FindBlock finds the block. Call it before os.Args changes: its first string lies in the block.
func FindBlock() (Block, error) {
	if len(os.Args) == 0 || os.Args[0] == "" {
		return Block{}, errors.New("cannot find the environment block: there is no argument")
	}
	raw, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return Block{}, fmt.Errorf("cannot find the environment block: %w", err)
	}
	// Fields 48 to 51, proc(5); the third one follows the name in parentheses.
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	const argStart, argEnd, envStart, envEnd = 45, 46, 47, 48
	if len(fields) <= envEnd {
		return Block{}, errors.New("cannot find the environment block: the kernel does not say where it is")
	}
	var at [envEnd + 1]uintptr
	for i := argStart; i <= envEnd; i++ {
		n, err := strconv.ParseUint(fields[i], 10, 64)
		if err != nil {
			return Block{}, fmt.Errorf("cannot find the environment block: %w", err)
		}
		at[i] = uintptr(n)
	}
	// The runtime lets os.Args point to the kernel's copy (goargs in runtime/runtime1.go).
	first := unsafe.Pointer(unsafe.StringData(os.Args[0]))
	if uintptr(first) != at[argStart] || at[argEnd] < at[argStart] || at[envStart] < at[argEnd] ||
		at[envEnd] < at[envStart] {
		return Block{}, errors.New("cannot find the environment block: the arguments are elsewhere")
	}
	return Block{
		Args:    unsafe.Slice((*byte)(first), at[argEnd]-at[argStart]),
		Environ: unsafe.Slice((*byte)(unsafe.Add(first, at[envStart]-at[argStart])), at[envEnd]-at[envStart]),
	}, nil
}
