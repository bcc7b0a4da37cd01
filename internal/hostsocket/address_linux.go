package hostsocket

import (
	"fmt"
	"os"
)

// withDescriptor calls f with a path through a descriptor of the directory, if
// /proc is mounted.
func withDescriptor(dir, name string, f func(path string) error) (known bool, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return true, err
	}
	defer d.Close()
	through := fmt.Sprintf("/proc/self/fd/%d", d.Fd())
	if _, err := os.Stat(through); err != nil {
		return false, nil // withLink needs no /proc
	}
	return true, f(through + "/" + name)
}
