package egress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
)

// script is a client that sends its bytes regardless of the responses.
type script struct {
	io.Reader
	io.Writer
}

// A client without the password gets nowhere, and an accepted target can be written and read again.
func FuzzSOCKS(f *testing.F) {
	f.Add([]byte("\x05\x01\x02\x01\x06settle\x06secret\x05\x01\x00\x03\x09good.test\x01\xbb"))
	f.Add([]byte("\x05\x02\x00\x02\x01\x06settle\x06secret\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"))
	f.Add(
		[]byte(
			"\x05\x01\x02\x01\x06settle\x06secret\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01\x00\x50",
		),
	)
	f.Add([]byte("\x05\x01\x02\x01\x05wrong\x06secret\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"))
	f.Fuzz(func(t *testing.T, data []byte) {
		knew := false
		target, err := readSOCKS(script{bytes.NewReader(data), io.Discard}, func(user, secret string) bool {
			knew = user == "settle" && secret == "secret"
			return knew
		})
		if err != nil {
			return
		}
		if !knew {
			t.Errorf("%q leads to %v without the password", data, target)
		}
		if target.Port == 0 {
			return // nothing listens there
		}
		if again, err := parseTarget(target.String()); err != nil || again != target {
			t.Errorf("%v is %v, %v", target, again, err)
		}
	})
}

// For any list and target, the connected address is public or listed.
func FuzzTarget(f *testing.F) {
	for _, seed := range [][2]string{
		{"good.test", "good.test:443"}, {"*.test", "a.test.:443"}, {"*", "[::ffff:127.0.0.1]:80"}, {"10.0.0.0/8:*", "10.0.0.1:99"}, {"::/0", "[64:ff9b::7f00:1]:80"}, {"*:*", "0x7f.1:80"}, {"0.0.0.0/0", "169.254.169.254:80"},
	} {
		f.Add(seed[0], seed[1], []byte{127, 0, 0, 1})
	}
	errTried := errors.New("tried")
	f.Fuzz(func(t *testing.T, entry, text string, answer []byte) {
		host, err := ParseHost(entry)
		if err != nil {
			return
		}
		target, err := parseTarget(text)
		if err != nil {
			return
		}
		g := &Proxy{hosts: List{host}, ctx: t.Context()}
		g.dialer = Dialer{
			Lookup: func(context.Context, string) ([]netip.Addr, error) {
				a, _ := netip.AddrFromSlice(answer)
				return []netip.Addr{a}, nil
			},
			Connect: func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
				listed := host.prefix.IsValid() && host.prefix.Contains(to.Addr())
				if !Public(to.Addr()) && !listed || local(to.Addr()) || to.Addr().Is4In6() ||
					to.Port() != target.Port ||
					!host.at(to.Port()) {
					t.Errorf("%q lets %q lead to %v", entry, text, to)
				}
				return nil, errTried
			},
			Permit: g.hosts.Permits,
		}
		if _, err := g.dial(t.Context(), target); err == nil {
			t.Error("there is a connection to nowhere")
		}
	})
}
