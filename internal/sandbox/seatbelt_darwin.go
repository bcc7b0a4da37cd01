package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
)

// seatbelt is the program that confines itself and executes another one.
const seatbelt = "/usr/bin/sandbox-exec"

// Check returns nil if [Confined] confines commands on this Mac, or the missing requirement. It
// checks once.
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

// Layers names the mechanisms that enforce a policy.
func Layers() []string { return []string{"seatbelt"} }

// ViewLayer names the mechanism of a policy with View, in addition to Layers; "" for none.
const ViewLayer = ""

// KnowsAddresses reports whether a proxied command can reach only its proxy, even without a
// network of its own.
const KnowsAddresses = true

// UntestedNote describes the untested parts; "" for none.
const UntestedNote = "the sandbox of macOS is unproved: its profile was never tested on a Mac before its release"

// Confined returns the program and arguments that execute a program in the sandbox; argv starts
// with the program's name.
func Confined(p Policy, program string, argv []string) (path string, args []string) {
	p.Read = append(follow(p.Read), follow([]string{program})...)
	p.Write, p.Protect = follow(p.Write), followAbove(p.Protect)
	return seatbelt, append([]string{seatbelt, "-p", Seatbelt(p), "--", program}, argv[1:]...)
}

// follow returns the resolved paths. It ignores missing ones.
func follow(paths []string) (all []string) {
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			all = append(all, real)
		}
	}
	return all
}

// followAbove resolves the folders above paths, and keeps links: the targets of protected links are
// in the list. It ignores missing paths.
func followAbove(paths []string) (all []string) {
	for _, path := range paths {
		folder, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			continue
		}
		if path = filepath.Join(folder, filepath.Base(path)); disk.Exists(path) {
			all = append(all, path)
		}
	}
	return all
}
