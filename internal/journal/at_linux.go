package journal

import (
	"fmt"
	"os"
)

// at calls f with a path of the file in the directory that is short enough for
// the address of a socket (108 bytes, unix(7)).
func at(dir, name string, f func(path string) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return f(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name))
}
