package egress

import (
	"net/netip"
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	l := list(
		t, "example.com", "*.Example.ORG.", "registry.test:8443", "any.test:*", "10.1.0.0/16", "127.0.0.1:3000",
		"[::1]:3000", "2606:4700::1", "*.port.test:99",
	)
	for text, want := range map[string]bool{
		"example.com:443": true, "EXAMPLE.com:443": true, "example.com.:22": true, "example.com:80": true, "example.com:8080": false, "www.example.com:443": false,
		"a.example.org:443": true, "a.b.example.org:443": true, "example.org:443": false, "xexample.org:443": false,
		"registry.test:8443": true, "registry.test:443": false, "any.test:1": true, "a.port.test:99": true, "a.port.test:443": false,
		"10.1.2.3:443": true, "10.2.2.3:443": false, "127.0.0.1:3000": true, "127.0.0.1:3001": false, "[::1]:3000": true, "[::ffff:127.0.0.1]:3000": true,
		"[2606:4700::1]:443": true, "[2606:4700::2]:443": false, "localhost:3000": false,
	} {
		target, err := parseTarget(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := l.Allows(target); got != want {
			t.Errorf("Allows(%s) is %t, want %t", text, got, want)
		}
	}
	for text, want := range map[string]bool{"10.1.2.3:443": true, "10.1.2.3:444": false, "127.0.0.1:3000": true, "127.0.0.2:3000": false, "[::1]:3000": true} {
		if got := l.Permits(netip.MustParseAddrPort(text)); got != want {
			t.Errorf("Permits(%s) is %t, want %t", text, got, want)
		}
	}
	// Nobody who lists everything means the cloud's keys.
	for _, wide := range []List{list(t, "*:*", "0.0.0.0/0:*", "::/0:*")} {
		for _, a := range []string{"169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fe80::1", "0.0.0.0", "::", "224.0.0.1"} {
			at := netip.AddrPortFrom(netip.MustParseAddr(a), 80)
			if wide.Allows(Target{a, 80}) || wide.Permits(at) {
				t.Errorf("%s can be reached", a)
			}
		}
	}
	if every := list(t, "*"); !every.Allows(Target{"any.test", 443}) || !every.Allows(Target{"1.1.1.1", 443}) ||
		every.Allows(Target{"10.0.0.1", 443}) ||
		every.Permits(netip.MustParseAddrPort("10.0.0.1:443")) {
		t.Error("* is every host that has a public address")
	}
}

func TestParseHostRefuses(t *testing.T) {
	for _, text := range []string{
		"", " ", "https://example.com", "example.com/path", "example.com:", "example.com:0", "example.com:65536", "example.com:http", "*example.com", "a.*.com", "ex ample.com",
		"bücher.de", "169.254.169.254", "fe80::1", "168.63.129.16", "user@example.com", ".", "..", "a..b", strings.Repeat("a", 64) + ".com", "[::1", "*.", "-:",
	} {
		if h, err := ParseHost(text); err == nil {
			t.Errorf("%q is %+v", text, h)
		}
	}
	if _, err := ParseList([]string{"good.test", "bad host", "worse host"}); err == nil ||
		!strings.Contains(err.Error(), "worse") ||
		!strings.Contains(err.Error(), "bad") {
		t.Error(err)
	}
}
