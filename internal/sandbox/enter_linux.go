package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// minABI is the version of Landlock that confines signals (Linux 6.12): with an older one, a
// command could end the host.
const minABI = 6

// The rights that Landlock refuses unless a rule grants them: all rights on files of version 6,
// because unhandled rights are allowed.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	allRights = fileRights | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
)

// writeRights are the rights on a writable folder. They exclude devices: no sandboxed command
// may create one.
const writeRights = allRights &^ (unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)

// sinks are writable by every command: they store nothing.
var sinks = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty"}

// Check returns nil if Enter enforces a policy on this machine, or the missing requirement. It
// checks once.
func Check() error { return check() }

var check = sync.OnceValue(func() error {
	if filter(kind{}) == nil {
		return errors.New("there is no sandbox for this processor")
	}
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errors.Is(errno, unix.EOPNOTSUPP):
		return errors.New(
			"the kernel has Landlock, and it is turned off (lsm=landlock,… on its command line turns it on)",
		)
	case errno != 0:
		return fmt.Errorf(
			"the kernel has no Landlock, or a container forbids it (Linux 6.12 has what it takes): %w", errno,
		)
	case abi < minABI:
		return fmt.Errorf(
			"the kernel's Landlock (version %d) does not confine signals (Linux 6.12, version %d, does)", abi, minABI,
		)
	}
	if mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil || mode < 0 {
		return fmt.Errorf("the kernel has no seccomp: %w", err)
	}
	return nil
})

// Layers names the mechanisms that enforce a policy.
func Layers() []string { return []string{"landlock", "seccomp"} }

// ViewLayer names the mechanism of a policy with View, in addition to Layers; "" for none.
const ViewLayer = "mounts"

// KnowsAddresses reports whether a proxied command can reach only its proxy, even without a
// network of its own.
const KnowsAddresses = false

// UntestedNote describes the untested parts; "" for none.
const UntestedNote = ""

// Enter confines the calling thread and the processes that it starts; the caller must have
// locked the thread, and must never unlock it. After an error, the thread can be partly confined
// and must not be used.
//
// In a network of its own, a proxied command finds its proxy at proxyListener, a listening socket;
// -1 if there is none.
func Enter(p Policy) (proxyListener int, err error) {
	if err := Check(); err != nil {
		return -1, err
	}
	if proxyListener, err = enterNetwork(p); err != nil {
		return -1, err
	}
	if err := confine(p); err != nil {
		if proxyListener >= 0 {
			_ = unix.Close(proxyListener)
		}
		return -1, err
	}
	return proxyListener, nil
}

func confine(p Policy) error {
	if len(p.Hide) > 0 && len(p.Write) > 0 && !p.View {
		return errors.New(
			"cannot hide files in folders that the command may change: that takes a view of the files of its own",
		)
	}
	if !p.View && slices.ContainsFunc(p.Hide, func(h Hidden) bool { return h.Content != nil }) {
		return errors.New("cannot show another content of files: that takes a view of the files of its own")
	}
	p.Hide = slices.Clone(p.Hide) // hide changes it
	if err := mounts(p); err != nil {
		return err
	}
	rules, err := ruleset(p)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(rules) }()
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot give up new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return fmt.Errorf("cannot enter the Landlock domain: %w", errno)
	}
	k := kindOf(p)
	if thread := unix.Gettid(); thread != os.Getpid() { // otherwise the thread becomes the command
		k.thread = uint32(thread)
	}
	instructions := filter(k)
	program := unix.SockFprog{Len: uint16(len(instructions)), Filter: &instructions[0]}
	if _, _, errno := unix.Syscall(
		unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)),
	); errno != 0 {
		return fmt.Errorf("cannot set the system call filter: %w", errno)
	}
	return nil
}

// ruleset converts the policy to a Landlock ruleset and returns its descriptor.
func ruleset(p Policy) (fd int, err error) {
	attr := unix.LandlockRulesetAttr{
		Handled_access_fs: allRights,
		Scoped:            unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL,
	}
	if p.Network != Online {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	r, _, errno := unix.Syscall(
		unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0,
	)
	if errno != 0 {
		return -1, fmt.Errorf("cannot create a Landlock ruleset: %w", errno)
	}
	fd = int(r)
	if p.Network == Proxied {
		err = grantPort(fd, p.Port)
	}
	hidden := p.Hide
	if p.View { // the mounts hide them
		hidden = nil
	}
	for _, path := range p.Read {
		err = errors.Join(err, grantWithout(fd, path, hidden))
	}
	err = errors.Join(err, unchanged(hidden))
	for _, h := range p.Hide {
		if h.Content != nil {
			err = errors.Join(err, h.grant(fd))
		}
	}
	for _, path := range p.Write {
		err = errors.Join(err, grant(fd, path, writeRights))
	}
	for _, path := range sinks {
		err = errors.Join(
			err,
			grant(
				fd, path,
				unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
			),
		)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// ruleNetPort is LANDLOCK_RULE_NET_PORT, which the package unix lacks.
const ruleNetPort = 2

// grantPort allows connections to a port.
func grantPort(rules int, port uint16) error {
	if port == 0 {
		return errors.New("cannot grant the proxy: it has no port")
	}
	attr := struct{ access, port uint64 }{
		unix.LANDLOCK_ACCESS_NET_CONNECT_TCP,
		uint64(port),
	} // struct landlock_net_port_attr
	if _, _, errno := unix.Syscall6(
		unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), ruleNetPort, uintptr(unsafe.Pointer(&attr)), 0, 0, 0,
	); errno != 0 {
		return fmt.Errorf("cannot grant the proxy: %w", errno)
	}
	return nil
}

// grant adds a rule for a path, if the path exists.
func grant(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist),
		errors.Is(err, fs.ErrPermission),
		errors.Is(err, unix.ENOTDIR),
		errors.Is(err, unix.ELOOP),
		errors.Is(err, unix.ENXIO):
		return nil // an unreachable path needs no rule
	case err != nil:
		return fmt.Errorf("cannot open %q: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	return grantFile(rules, fd, path, rights)
}

// grantFile adds a rule for an open file; the path is for errors.
func grantFile(rules, fd int, path string, rights uint64) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("cannot look at %q: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(
		unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0,
		0, 0,
	); errno != 0 {
		if errno == unix.EBADFD { // a descriptor without a path, such as /dev/stdout of a pipe
			return nil
		}
		return fmt.Errorf("cannot grant %q: %w", path, errno)
	}
	return nil
}

// dropCapabilities drops all capabilities and prevents new ones, also for root.
func dropCapabilities() error {
	for capability := range uintptr(unix.CAP_LAST_CAP + 1) {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if err != nil && !errors.Is(err, unix.EPERM) &&
			!errors.Is(err, unix.EINVAL) { // no privilege to drop it; unknown to the kernel
			return fmt.Errorf("cannot drop capability %d: %w", capability, err)
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // the kernel has none before Linux 4.3
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("cannot drop the capabilities: %w", err)
	}
	return nil
}
