package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"
)

// SOCKS5 is RFC 1928, with the passwords of RFC 1929.
const (
	socksVersion = 5
	byPassword   = 2
	noMethod     = 0xff
	passwordOne  = 1 // version of the password negotiation
	toConnect    = 1
	toIPv4       = 1
	toName       = 3
	toIPv6       = 4
)

// The answers to a request.
const (
	socksDone        = 0
	socksRefused     = 2 // by the rules
	socksUnreachable = 4
	socksNoCommand   = 7
	socksNoAddress   = 8
)

// socksError is a refusal with an answer.
type socksError struct {
	code byte
	why  string
}

func (e *socksError) Error() string { return e.why }

// readSOCKS reads a client's handshake and target. authenticates checks its name and password.
func readSOCKS(c io.ReadWriter, authenticates func(user, secret string) bool) (Target, error) {
	read := func(n int) ([]byte, error) {
		buf := make([]byte, n)
		_, err := io.ReadFull(c, buf)
		return buf, err
	}
	text := func() (string, error) { // with one byte for the length
		n, err := read(1)
		if err != nil {
			return "", err
		}
		buf, err := read(int(n[0]))
		return string(buf), err
	}
	version, err := read(1)
	if err != nil || version[0] != socksVersion {
		return Target{}, errors.Join(err, errors.New("it does not speak SOCKS5"))
	}
	methods, err := text()
	if err != nil {
		return Target{}, err
	}
	if !strings.ContainsRune(methods, byPassword) {
		_, err := c.Write([]byte{socksVersion, noMethod})
		return Target{}, errors.Join(err, errors.New("it offers no password"))
	}
	if _, err := c.Write([]byte{socksVersion, byPassword}); err != nil {
		return Target{}, err
	}
	if version, err = read(1); err != nil || version[0] != passwordOne {
		return Target{}, errors.Join(err, errors.New("it sends no password"))
	}
	user, err := text()
	if err != nil {
		return Target{}, err
	}
	secret, err := text()
	if err != nil {
		return Target{}, err
	}
	if !authenticates(user, secret) {
		_, err := c.Write([]byte{passwordOne, 1})
		return Target{}, errors.Join(err, errors.New("its password is wrong"))
	}
	if _, err := c.Write([]byte{passwordOne, 0}); err != nil {
		return Target{}, err
	}
	return readSOCKSRequest(read, text)
}

// readSOCKSRequest reads the target of an authenticated client.
func readSOCKSRequest(read func(int) ([]byte, error), text func() (string, error)) (Target, error) {
	head, err := read(4)
	switch {
	case err != nil:
		return Target{}, err
	case head[0] != socksVersion:
		return Target{}, errors.New("it does not speak SOCKS5")
	case head[1] != toConnect: // neither BIND nor UDP
		return Target{}, &socksError{socksNoCommand, fmt.Sprintf("command %d is not served", head[1])}
	}
	var host string
	switch head[3] {
	case toName:
		host, err = text()
	case toIPv4, toIPv6:
		size := net.IPv4len
		if head[3] == toIPv6 {
			size = net.IPv6len
		}
		var raw []byte
		if raw, err = read(size); err == nil {
			a, _ := netip.AddrFromSlice(raw)
			host = a.String()
		}
	default:
		return Target{}, &socksError{socksNoAddress, fmt.Sprintf("there is no kind %d of addresses", head[3])}
	}
	if err != nil {
		return Target{}, err
	}
	port, err := read(2)
	if err != nil {
		return Target{}, err
	}
	t, err := newTarget(host, binary.BigEndian.Uint16(port))
	if err != nil {
		return Target{}, &socksError{socksNoAddress, err.Error()}
	}
	return t, nil
}

// serveSOCKS opens a tunnel.
func (p *Proxy) serveSOCKS(c *clientConn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(helloTimeout))
	t, err := readSOCKS(c, p.authenticates)
	var refused *socksError
	if errors.As(err, &refused) {
		_, _ = c.Write(socksAnswer(refused.code))
	}
	if err != nil {
		return
	}
	_ = c.SetDeadline(time.Time{})
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	to, err := p.dial(ctx, t)
	var denied *RefusedError
	switch {
	case errors.As(err, &denied):
		_, _ = c.Write(socksAnswer(socksRefused))
		return
	case err != nil:
		_, _ = c.Write(socksAnswer(socksUnreachable))
		return
	}
	defer to.Close()
	if _, err := c.Write(socksAnswer(socksDone)); err != nil {
		return
	}
	p.tunnel(c, to)
}

// socksAnswer has no address: clients do not need the proxy's source address.
func socksAnswer(code byte) []byte {
	return []byte{socksVersion, code, 0, toIPv4, 0, 0, 0, 0, 0, 0}
}
