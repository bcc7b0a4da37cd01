package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// enterNetwork gives the calling thread a network of its own, if the policy has one.
// proxyListener is the listening socket for the proxy; -1 if there is none.
func enterNetwork(p Policy) (proxyListener int, err error) {
	if !p.OwnNetwork {
		return -1, nil
	}
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWIPC); err != nil {
		return -1, fmt.Errorf("cannot have a network of its own: %w", err)
	}
	if p.Network != Proxied {
		return -1, nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("cannot open a listener for the proxy: %w", err)
	}
	if err = enableInterface(fd, "lo"); err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: int(p.Port), Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("cannot open a listener for the proxy: %w", err)
	}
	return fd, nil
}

// enableInterface enables an interface (netdevice(7)).
func enableInterface(socket int, name string) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(
		unix.SYS_IOCTL, uintptr(socket), unix.SIOCGIFFLAGS, uintptr(unsafe.Pointer(request)),
	); errno != 0 {
		return errno
	}
	request.SetUint16(request.Uint16() | unix.IFF_UP)
	if _, _, errno := unix.Syscall(
		unix.SYS_IOCTL, uintptr(socket), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(request)),
	); errno != 0 {
		return errno
	}
	return nil
}
