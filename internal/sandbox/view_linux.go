package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/disk"
)

// mounts gives the calling thread a mount namespace with the policy's mounts. It requires
// CAP_SYS_ADMIN, for example in a user namespace.
func mounts(p Policy) error {
	if !p.View && !p.OwnProcesses {
		return nil
	}
	if pid := unix.Getpid(); p.OwnProcesses && pid != 1 { // its /proc would show other processes
		return fmt.Errorf("cannot hide the processes of others: process %d is not the first one of its namespace", pid)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("cannot have a view of the files: %w", err)
	}
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if errors.Is(err, unix.EINVAL) { // after chroot(2), "/" need not be a mount point
		err = ownRoot()
	}
	if err != nil {
		return fmt.Errorf("cannot keep the view of the files private: %w", err)
	}
	if p.OwnProcesses {
		if err := ownProcesses(); err != nil {
			return err
		}
	}
	if p.View {
		return view(p)
	}
	return nil
}

// ownProcesses mounts a /proc of the caller's process namespace over the machine's.
func ownProcesses() error {
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("cannot hide the processes of others: cannot mount /proc: %w", err)
	}
	return nil
}

// view makes all files read-only except the policy's writable ones, without its protected ones.
// This includes modes, owners and times, which Landlock does not cover.
func view(p Policy) error {
	var kept []mounted
	defer func() {
		for _, m := range kept {
			_ = unix.Close(m.fd)
		}
	}()
	for _, path := range outermost(p.Write) { // at this moment
		m, err := detach(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		kept = append(kept, m)
		if err := m.restrict(0); err != nil {
			return err
		}
	}
	dev, err := detach(devices)
	switch {
	case err == nil:
		kept = slices.Insert(kept, 0, dev)
		err = dev.restrict(unix.MOUNT_ATTR_RDONLY)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return err
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{
		Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV,
	}); err != nil {
		return fmt.Errorf("cannot make the files read-only: %w", err)
	}
	for _, m := range kept {
		if err := m.attach(); err != nil {
			return err
		}
	}
	if err := protect(p); err != nil {
		return err
	}
	return hide(p.Hide)
}

// ownRoot gives the calling thread a private copy of all mounts from "/" on as its root, in its
// own mount namespace. The copy is mounted on /proc, the only mount point that certainly exists:
// a mount on a shared mount would be visible outside, and only a mount point can be made
// private.
func ownRoot() error {
	dir, err := unix.Getwd()
	if err != nil {
		return err
	}
	root, err := detach("/")
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(root.fd) }()
	if err := unix.MountSetattr(
		root.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Propagation: unix.MS_PRIVATE},
	); err != nil {
		return err
	}
	root.path = "/proc"
	if err := unix.Mount("", root.path, "", unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := root.attach(); err != nil {
		return err
	}
	if err := unix.Fchdir(root.fd); err != nil {
		return err
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return unix.Chdir(dir)
}

// protect makes the protected paths read-only and pins the folders above them, because a rename
// of such a folder would move the protection. It also pins the folders that must stay.
func protect(p Policy) error {
	var pinned []string
	pin := func(path string) {
		for ; p.holds(path) && !slices.Contains(pinned, path); path = filepath.Dir(path) {
			pinned = append(pinned, path)
		}
	}
	for _, path := range p.Protect {
		pin(filepath.Dir(path))
	}
	for _, path := range p.Pinned {
		pin(path)
	}
	slices.Sort(pinned) // a folder precedes its content
	for _, list := range []struct {
		paths []string
		attr  uint64
	}{{pinned, 0}, {p.Protect, unix.MOUNT_ATTR_RDONLY}} {
		for _, path := range list.paths {
			if isLink(path) {
				continue // a link cannot be mounted; its target is in the list
			}
			m, err := detach(path)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
				continue
			}
			if err == nil && list.attr != 0 {
				err = unix.MountSetattr(
					m.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: list.attr},
				)
			}
			if err == nil {
				err = m.attach()
			}
			if m.fd > 0 {
				_ = unix.Close(m.fd)
			}
			if err != nil {
				return fmt.Errorf("cannot protect %q: %w", path, err)
			}
		}
	}
	return nil
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// holds reports whether a folder can be renamed because it is below a writable one, which is
// mounted already.
func (p Policy) holds(path string) bool {
	return slices.ContainsFunc(p.Write, func(dir string) bool { return dir != path && disk.Within(dir, path) })
}

// outermost returns the paths that are not below another one.
func outermost(paths []string) (out []string) {
	for _, path := range paths {
		above := func(parent string) bool { return parent != path && disk.Within(parent, path) }
		if !slices.ContainsFunc(paths, above) {
			out = append(out, path)
		}
	}
	return out
}

// mounted is a detached copy of a mount.
type mounted struct {
	fd   int
	path string
}

func detach(path string) (mounted, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return mounted{}, fmt.Errorf("cannot look at %q: %w", path, err)
	}
	return mounted{fd, path}, nil
}

// devices is the only folder whose device files work in a view.
const devices = "/dev"

// restrict sets attributes of a detached mount, and of the mounts below it. Set-user-ID programs
// get no other rights by them, and device files outside of /dev do not work.
func (m mounted) restrict(attributes uint64) error {
	attributes |= unix.MOUNT_ATTR_NOSUID
	if !disk.Within(devices, m.path) && !disk.Within(m.path, devices) {
		attributes |= unix.MOUNT_ATTR_NODEV
	}
	err := unix.MountSetattr(m.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes})
	if err != nil {
		return fmt.Errorf("cannot restrict the mount of %q: %w", m.path, err)
	}
	return nil
}

func (m mounted) attach() error {
	if err := unix.MoveMount(m.fd, "", unix.AT_FDCWD, m.path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("cannot have %q in the view of the files: %w", m.path, err)
	}
	return nil
}

// Administers reports whether this process may mount. Otherwise it must start in a user
// namespace.
func Administers() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}
