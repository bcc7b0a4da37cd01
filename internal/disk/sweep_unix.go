//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// boot is eight characters that differ between boots, if the system has such a value (random(4)).
var boot = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(id) < 8 {
		return "0"
	}
	return string(id[:8])
})

// hold locks the directory. ours is false if a sweep was faster. On a file system without locks,
// no process can lock it, and no sweep removes it.
func hold(path string) (lock *os.File, ours bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	free, err := TryLock(f)
	if err != nil {
		return nil, true, f.Close()
	}
	if !free || !same(f, path) {
		return nil, false, f.Close()
	}
	return f, true, nil
}

// same reports whether the path still is the open directory.
func same(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}

// maxSwept bounds the directories of one sweep.
const maxSwept = 32

// SweepScratch removes the directories of dead processes of this user, and returns their number.
// The next sweep retries failures, and continues what was cut.
func SweepScratch() (removed int) {
	base, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return 0
	}
	dir, err := os.Open(base)
	if err != nil {
		return 0
	}
	defer func() { _ = dir.Close() }() // it was only read
	names, _ := dir.Readdirnames(-1)   // the names that exist now
	until := time.Now().Add(sweepTimeout)
	for _, name := range names {
		if removed == maxSwept || time.Now().After(until) {
			break
		}
		if strings.HasPrefix(name, prefix+boot()+"-") && sweep(filepath.Join(base, name), until) {
			removed++
		}
	}
	return removed
}

// sweep removes one directory if its process is dead. It holds the lock meanwhile, so that only
// one of several sweeps removes it.
func sweep(path string, until time.Time) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only locked
	free, err := TryLock(f)
	return err == nil && free && same(f, path) && removeTree(path, until) == nil
}
