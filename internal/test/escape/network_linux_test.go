package escape

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

// with tries something with a socket that does not wait for long.
func with(family, kind, protocol int, try func(fd int) error) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		return err
	}
	return try(fd)
}

func networkAttempts() []attempt {
	four := func(w prey) *unix.SockaddrInet4 { return &unix.SockaddrInet4{Port: w.TCP, Addr: [4]byte{127, 0, 0, 1}} }
	list := []attempt{
		{name: "TCP", try: func(w prey, _ string) error {
			return with(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Connect(fd, four(w)) })
		}},
		{name: "TCP over IPv6", try: func(w prey, _ string) error {
			return with(unix.AF_INET6, unix.SOCK_STREAM, 0, func(fd int) error {
				return unix.Connect(fd, &unix.SockaddrInet6{Port: w.TCP, Addr: [16]byte{15: 1}})
			})
		}},
		{name: "TCP by a mapped address", try: func(w prey, _ string) error {
			return with(unix.AF_INET6, unix.SOCK_STREAM, 0, func(fd int) error {
				return unix.Connect(
					fd, &unix.SockaddrInet6{Port: w.TCP, Addr: [16]byte{10: 255, 11: 255, 12: 127, 15: 1}},
				)
			})
		}},
		{name: "TCP fast open", try: func(w prey, _ string) error {
			return with(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
				return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, four(w))
			})
		}},
		{name: "TCP fast open by a message", try: func(w prey, _ string) error {
			return with(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
				_, err := unix.SendmsgN(fd, []byte("x"), nil, four(w), unix.MSG_FASTOPEN)
				return err
			})
		}},
		{name: "MPTCP", try: func(w prey, _ string) error {
			return with(
				unix.AF_INET,
				unix.SOCK_STREAM,
				unix.IPPROTO_MPTCP,
				func(fd int) error { return unix.Connect(fd, four(w)) },
			)
		}},
		{name: "SMC", try: func(prey, string) error { return socket(unix.AF_SMC, unix.SOCK_STREAM, 0) }},
		{
			name: "SCTP",
			try:  func(prey, string) error { return socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP) },
		},
		{name: "UDP", try: func(w prey, _ string) error {
			return with(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error {
				return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrInet4{Port: w.UDP, Addr: [4]byte{127, 0, 0, 1}})
			})
		}},
		{name: "UDP over IPv6", try: func(prey, string) error { return socket(unix.AF_INET6, unix.SOCK_DGRAM, 0) }},
		{name: "DNS", try: func(prey, string) error {
			return with(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error {
				return unix.Connect(fd, &unix.SockaddrInet4{Port: 53, Addr: [4]byte{127, 0, 0, 53}})
			})
		}},
		{
			name: "ping",
			try:  func(prey, string) error { return socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP) },
		},
		{name: "ICMP", try: func(prey, string) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
		{name: "frames", try: func(prey, string) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
		{
			name: "netlink",
			try:  func(prey, string) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) },
		},
		{name: "the hypervisor", try: func(prey, string) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
		{
			name: "ciphers of the kernel",
			try:  func(prey, string) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) },
		},
		{name: "XDP", try: func(prey, string) error { return socket(unix.AF_XDP, unix.SOCK_RAW, 0) }},
		{name: "an abstract socket", try: func(w prey, _ string) error {
			return with(
				unix.AF_UNIX,
				unix.SOCK_STREAM,
				0,
				func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: "@" + w.Abstract}) },
			)
		}},
		{name: "a socket with a path", try: func(w prey, _ string) error {
			return with(
				unix.AF_UNIX,
				unix.SOCK_STREAM,
				0,
				func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: w.Path}) },
			)
		}},
		{name: "a datagram to an abstract socket, from a pair", try: pair(unix.SOCK_DGRAM, func(w prey, fd int) error {
			return unix.Sendto(fd, []byte("x"), 0, w.abstractListener())
		})},
		{name: "a datagram to a path, from a pair", try: pair(unix.SOCK_DGRAM, func(w prey, fd int) error {
			return unix.Sendto(fd, []byte("x"), 0, w.pathListener())
		})},
		{
			name: "a datagram to a path, from a raw pair",
			try: pair(unix.SOCK_RAW, func(w prey, fd int) error { // the kernel makes it a datagram socket
				return unix.Sendto(fd, []byte("x"), 0, w.pathListener())
			}),
		},
		{name: "a message to a path, from a pair", try: pair(unix.SOCK_DGRAM, func(w prey, fd int) error {
			return unix.Sendmsg(fd, []byte("x"), nil, w.pathListener(), 0)
		})},
		{
			name: "messages to a path, from a pair",
			try:  pair(unix.SOCK_DGRAM, func(w prey, fd int) error { return sendManyTo(fd, w.DatagramPath) }),
		},
		{name: "connecting a pair to a path", try: pair(unix.SOCK_DGRAM, func(w prey, fd int) error {
			if err := unix.Connect(fd, w.pathListener()); err != nil {
				return err
			}
			_, err := unix.Write(fd, []byte("x"))
			return err
		})},
		{name: "passing a descriptor to a path", try: pair(unix.SOCK_DGRAM, func(w prey, fd int) error {
			return unix.Sendmsg(fd, []byte("x"), unix.UnixRights(0), w.pathListener(), 0)
		})},
		{
			name: "binding a pair",
			when: func(w prey) bool { return offline(w) && w.Writes },
			try: pair(unix.SOCK_DGRAM, func(w prey, fd int) error {
				return unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(w.Room, "bound")})
			}),
		},
		{
			name: "binding a stream of a pair",
			when: func(w prey) bool { return offline(w) && w.Writes },
			try: pair(unix.SOCK_STREAM, func(w prey, fd int) error {
				return unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(w.Room, "bound-stream")})
			}),
		},
		{
			name: "listening on a pair",
			try:  pair(unix.SOCK_STREAM, func(_ prey, fd int) error { return unix.Listen(fd, 1) }),
		},
		{
			name: "accepting from a pair",
			try:  pair(unix.SOCK_STREAM, func(_ prey, fd int) error { _, _, err := unix.Accept4(fd, 0); return err }),
		},
		{name: "a stream of a pair to a path", try: pair(unix.SOCK_STREAM, addressed)},
		{name: "a sequence of a pair to a path", try: pair(unix.SOCK_SEQPACKET, addressed)},
		{name: "a pair of another family", try: func(prey, string) error {
			fds, err := unix.Socketpair(unix.AF_TIPC, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err == nil {
				_, _ = unix.Close(fds[0]), unix.Close(fds[1])
			}
			return err
		}},
		{name: "an inherited socket", try: func(prey, string) error {
			for fd := range 256 {
				var st unix.Stat_t
				if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
					return nil
				}
			}
			return errHeld
		}},
		{name: "another protocol on a TCP socket", try: func(prey, string) error {
			return with(
				unix.AF_INET,
				unix.SOCK_STREAM,
				0,
				func(fd int) error { return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_ULP, "tls") },
			)
		}},
		{name: "bind", try: func(prey, string) error {
			return with(
				unix.AF_INET,
				unix.SOCK_STREAM,
				0,
				func(fd int) error { return unix.Bind(fd, &unix.SockaddrInet4{}) },
			)
		}},
		{name: "listen", try: func(prey, string) error {
			return with(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Listen(fd, 1) })
		}},
	}
	for i := range list {
		switch list[i].name {
		case "an abstract socket",
			"a datagram to an abstract socket, from a pair",
			"an inherited socket": // held with any network
		case "binding a pair", "binding a stream of a pair":
		default:
			list[i].when = offline
		}
	}
	return list
}

// everyKind tries every family with every type: a list of refused ones would miss one.
func everyKind() []attempt {
	const families, kinds = 50, 16
	try := func(open func(family, kind int) error, allowed func(w prey, family, kind int) bool) func(prey, string) error {
		return func(w prey, _ string) error {
			for family := range families {
				for kind := range kinds {
					if !allowed(w, family, kind) && open(family, kind) == nil {
						return nil
					}
				}
			}
			return errHeld
		}
	}
	pairs := func(family, kind int) error {
		fds, err := unix.Socketpair(family, kind|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			_, _ = unix.Close(fds[0]), unix.Close(fds[1])
		}
		return err
	}
	return []attempt{
		{name: "any other pair of sockets", when: offline, try: try(pairs, func(_ prey, family, kind int) bool {
			return family == unix.AF_UNIX && (kind == unix.SOCK_STREAM || kind == unix.SOCK_SEQPACKET)
		})},
		{
			name: "any other socket",
			when: offline,
			try: try(
				func(family, kind int) error { return socket(family, kind, 0) },
				func(w prey, family, kind int) bool {
					return proxied(w) && kind == unix.SOCK_STREAM && (family == unix.AF_INET || family == unix.AF_INET6)
				},
			),
		},
	}
}

func (w prey) pathListener() unix.Sockaddr { return &unix.SockaddrUnix{Name: w.DatagramPath} }
func (w prey) abstractListener() unix.Sockaddr {
	return &unix.SockaddrUnix{Name: "@" + w.Abstract + "-datagram"}
}

// pair tries something with one of a pair of sockets.
func pair(kind int, try func(w prey, fd int) error) func(prey, string) error {
	return func(w prey, _ string) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer func() { _, _ = unix.Close(fds[0]), unix.Close(fds[1]) }()
		return try(w, fds[0])
	}
}

// addressed tries to reach a socket other than the peer of the pair, in each way that takes an
// address. Sending can succeed, to the peer; the driver checks the data that the listener has
// received.
func addressed(w prey, fd int) error {
	if err := unix.Connect(fd, w.pathListener()); err == nil {
		return nil
	}
	_ = unix.Sendto(fd, []byte("to"), 0, w.pathListener())
	_ = unix.Sendmsg(fd, []byte("msg"), nil, w.pathListener(), 0)
	_ = sendManyTo(fd, w.DatagramPath)
	return errHeld
}

// sendManyTo sends a datagram to a path by sendmmsg(2), which the package unix does not have.
func sendManyTo(fd int, path string) error {
	address := unix.RawSockaddrUnix{Family: unix.AF_UNIX}
	for i, c := range []byte(path) {
		address.Path[i] = int8(c)
	}
	text := []byte("x")
	part := unix.Iovec{Base: &text[0], Len: 1}
	message := struct {
		header unix.Msghdr
		sent   uint32
	}{header: unix.Msghdr{Name: (*byte)(unsafe.Pointer(&address)), Namelen: uint32(unsafe.Sizeof(address)), Iov: &part, Iovlen: 1}}
	return number(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), 1)
}

// answer returns the status code of the proxy's response to a CONNECT.
func (w prey) answer(target, secret string) (int, error) {
	who, at, _ := strings.Cut(strings.TrimPrefix(w.Proxy, "http://"), "@")
	conn, err := net.DialTimeout("tcp", at, 2*time.Second)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if secret == "" {
		secret = who
	}
	_, err = fmt.Fprintf(
		conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\n\r\n", target, target,
		base64.StdEncoding.EncodeToString([]byte(secret)),
	)
	if err != nil {
		return 0, err
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	_ = r.Body.Close()
	return r.StatusCode, nil
}

// proxyAttempts returns attempts to reach addresses through the proxy that its list forbids: the
// list has *, which allows public hosts only.
func proxyAttempts() []attempt {
	var list []attempt
	for name, target := range map[string]func(prey) string{
		"this machine":        func(w prey) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(w.TCP)) },
		"this machine's name": func(w prey) string { return net.JoinHostPort("localhost", strconv.Itoa(w.TCP)) },
		"a mapped address":    func(w prey) string { return net.JoinHostPort("::ffff:127.0.0.1", strconv.Itoa(w.TCP)) },
		"IPv6":                func(w prey) string { return net.JoinHostPort("::1", strconv.Itoa(w.TCP)) },
		"no address":          func(w prey) string { return net.JoinHostPort("0.0.0.0", strconv.Itoa(w.TCP)) },
		"another notation":    func(w prey) string { return net.JoinHostPort("0x7f.1", strconv.Itoa(w.TCP)) },
		"NAT64":               func(w prey) string { return net.JoinHostPort("64:ff9b::7f00:1", strconv.Itoa(w.TCP)) },
		"metadata":            func(prey) string { return "169.254.169.254:80" },
		"a private network":   func(prey) string { return "10.0.0.1:80" },
		"itself":              func(w prey) string { _, at, _ := strings.Cut(w.Proxy, "@"); return at },
	} {
		list = append(list, attempt{name: "the proxy to " + name, when: proxied, try: func(w prey, _ string) error {
			code, err := w.answer(target(w), "")
			if err == nil && code != http.StatusOK {
				return errHeld
			}
			return err
		}})
	}
	return append(
		list,
		attempt{name: "the proxy without its password", when: proxied, try: func(w prey, _ string) error {
			code, err := w.answer("example.com:443", "settle:guess")
			if err == nil && code != http.StatusForbidden && code != http.StatusOK && code != http.StatusBadGateway {
				return errHeld
			}
			return err
		}},
		attempt{
			name: "the proxy's port elsewhere",
			when: func(w prey) bool { return proxied(w) && w.Apart },
			try: func(w prey, _ string) error {
				port, err := strconv.Atoi(w.Proxy[strings.LastIndexByte(w.Proxy, ':')+1:])
				if err != nil {
					return errors.New("there is no proxy")
				}
				return with(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
					return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: w.Elsewhere})
				})
			},
		},
	)
}
