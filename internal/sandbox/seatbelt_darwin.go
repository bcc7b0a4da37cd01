package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// seatbelt is the program that confines itself, and becomes another one.
const seatbelt = "/usr/bin/sandbox-exec"

// Check returns nil if [Confined] confines here, or else what is missing. It looks
// once.
func Check() error { return check() }

var check = sync.OnceValue(func() error {
	info, err := os.Stat(seatbelt)
	if err != nil {
		return fmt.Errorf("macOS' sandbox-exec is missing: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("%s cannot be executed", seatbelt)
	}
	return nil
})

// Layers names what enforces a policy here.
func Layers() []string { return []string{"seatbelt"} }

// ViewLayer names what gives a command a view of its own, beside Layers; "" is
// nothing more.
const ViewLayer = ""

// KnowsAddresses says that a proxied command reaches its proxy alone also without a
// network of its own.
const KnowsAddresses = true

// Unproved says what has not been tried of all this; "" is nothing.
const UntestedNote = "the sandbox of macOS is unproved: its profile was never tested on a Mac before its release"

// Confined returns what to execute so that a program, with its arguments from its
// name on, is confined.
func Confined(p Policy, program string, argv []string) (path string, args []string) {
	p.Read = append(follow(p.Read), follow([]string{program})...)
	p.Write, p.Protect = follow(p.Write), follow(p.Protect)
	return seatbelt, append([]string{seatbelt, "-p", Seatbelt(p), "--", program}, argv[1:]...)
}

// follow returns where paths lead to. Those that do not exist are left out.
func follow(paths []string) (all []string) {
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			all = append(all, real)
		}
	}
	return all
}
