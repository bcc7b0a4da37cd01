//go:build unix

package disk

import "syscall"

// Enter makes the directory this process's working directory.
func (d *Dir) Enter() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var entered error
	if err := c.Control(func(fd uintptr) { entered = syscall.Fchdir(int(fd)) }); err != nil {
		return err
	}
	return entered
}
