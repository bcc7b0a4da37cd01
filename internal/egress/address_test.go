package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"1.1.1.1": true, "8.8.8.8": true, "93.184.216.34": true, "9.255.255.255": true, "11.0.0.0": true, "172.15.255.255": true, "172.32.0.0": true,
		"100.63.255.255": true, "100.128.0.0": true, "169.253.255.255": true, "223.255.255.255": true, "168.63.129.17": true,
		"2606:4700:4700::1111": true, "2001:4860:4860::8888": true, "2620:4f:8000::1": true, "2a00:1450::1": true,
		"0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "10.255.255.255": false, "100.64.0.1": false, "100.100.100.200": false,
		"127.0.0.1": false, "127.1.2.3": false, "169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.0.0.192": false,
		"192.0.2.1": false, "192.88.99.1": false, "192.168.1.1": false, "198.18.0.1": false, "198.19.255.255": false, "198.51.100.1": false,
		"203.0.113.1": false, "224.0.0.1": false, "239.255.255.250": false, "240.0.0.1": false, "255.255.255.255": false, "168.63.129.16": false,
		"::": false, "::1": false, "::2": false, "::7f00:1": false, "fe80::1": false, "fe80::1%eth0": false, "2606:4700::1%eth0": false, "fec0::1": false,
		"fc00::1": false, "fd00:ec2::254": false, "fd20:ce::254": false, "ff02::1": false, "100::1": false, "5f00::1": false,
		"2001::1": false, "2001:0:53aa:64c:0:ffff::": false, "2001:db8::1": false, "2002:7f00:1::": false, "2002:101:101::1": false, "3fff::1": false, "4000::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false, "::ffff:1.1.1.1": true, "::ffff:0:127.0.0.1": false,
		"64:ff9b::127.0.0.1": false, "64:ff9b::10.0.0.1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::1.1.1.1": true, "64:ff9b:1::1.1.1.1": false,
	} {
		if got := Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("Public(%s) is %t, want %t", text, got, want)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// names is a name server: an answer is used once, and then the next, as one that
// rebinds does.
type names map[string][][]netip.Addr

func (n names) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	answers := n[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if n[host] = answers[1:]; len(answers) == 1 {
		n[host] = answers
	}
	return answers[0], nil
}

func addresses(list ...string) (out []netip.Addr) {
	for _, text := range list {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

func TestDialer(t *testing.T) {
	refused := errors.New("refused by the other end")
	for name, c := range map[string]struct {
		address string
		want    []string // where it tried to connect to
		private string   // the address that was named
		permit  string
		network string
	}{
		"a name":                     {address: "good:443", want: []string{"1.1.1.1:443", "[2606:4700::1]:443"}},
		"only version 4":             {address: "good:443", network: "tcp4", want: []string{"1.1.1.1:443"}},
		"only version 6":             {address: "good:443", network: "tcp6", want: []string{"[2606:4700::1]:443"}},
		"an address":                 {address: "8.8.8.8:53", want: []string{"8.8.8.8:53"}},
		"a mapped address":           {address: "[::ffff:8.8.8.8]:53", want: []string{"8.8.8.8:53"}},
		"a private name":             {address: "inside:443", private: "10.0.0.1"},
		"both":                       {address: "both:443", want: []string{"1.1.1.1:443"}},
		"rebound":                    {address: "rebound:443", want: []string{"1.1.1.1:443"}},
		"loopback":                   {address: "127.0.0.1:80", private: "127.0.0.1"},
		"mapped loopback":            {address: "[::ffff:127.0.0.1]:80", private: "127.0.0.1"},
		"mapped, by name":            {address: "mapped:80", private: "169.254.169.254"},
		"a zone":                     {address: "[fe80::1%lo]:80", private: "fe80::1%lo"},
		"permitted":                  {address: "inside:443", permit: "10.0.0.1:443", want: []string{"10.0.0.1:443"}},
		"permitted at another port":  {address: "inside:443", permit: "10.0.0.1:80", private: "10.0.0.1"},
		"unknown":                    {address: "unknown:443"},
		"no port":                    {address: "good"},
		"a port by name":             {address: "good:https"},
		"a port that is too big":     {address: "good:65979"},
		"another network":            {address: "good:443", network: "udp"},
		"a name without an address":  {address: "empty:443"},
		"an odd form of an address":  {address: "0x7f.1:80", private: "127.0.0.1"},
		"another form of an address": {address: "2130706433:80", private: "127.0.0.1"},
	} {
		var tried []string
		d := Dialer{
			Lookup: names{
				"good": {
					addresses("1.1.1.1", "2606:4700::1"),
				}, "inside": {addresses("10.0.0.1", "::1")}, "both": {addresses("10.0.0.1", "1.1.1.1")},
				"rebound": {
					addresses("1.1.1.1"),
					addresses("127.0.0.1"),
				}, "mapped": {addresses("::ffff:169.254.169.254")}, "empty": {nil},
				"0x7f.1": {
					addresses("127.0.0.1"),
				}, "2130706433": {addresses("127.0.0.1")}, // as the C library reads them
			}.lookup,
			Connect: func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
				tried = append(tried, to.String())
				return nil, refused
			},
		}
		if c.permit != "" {
			d.Permit = func(to netip.AddrPort) bool { return to.String() == c.permit }
		}
		if c.network == "" {
			c.network = "tcp"
		}
		_, err := d.DialContext(t.Context(), c.network, c.address)
		if diff := cmp.Diff(c.want, tried); diff != "" {
			t.Errorf("%s: tried (-want +got)\n%s", name, diff)
		}
		if errors.Is(err, refused) != (c.want != nil) || err == nil {
			t.Errorf("%s: %v", name, err)
		}
		var private *PrivateError
		if errors.As(err, &private) != (c.private != "") || private != nil && private.Address.String() != c.private {
			t.Errorf("%s: %v, want %q named", name, err, c.private)
		}
	}
}

// The real thing: it connects to where it may, and to nothing of this machine.
func TestDialerForReal(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var d Dialer
	for _, host := range []string{"127.0.0.1", "localhost", "::ffff:127.0.0.1"} {
		_, port, _ := net.SplitHostPort(l.Addr().String())
		conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		var private *PrivateError
		if err == nil {
			_ = conn.Close()
		}
		if !errors.As(err, &private) && host != "localhost" || err == nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	d.Permit = func(to netip.AddrPort) bool { return to.String() == l.Addr().String() }
	conn, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}
