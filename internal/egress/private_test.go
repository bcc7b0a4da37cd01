package egress

import (
	"net/netip"
	"testing"
)

func TestPrivate(t *testing.T) {
	all, err := ParsePrivate([]string{"127.0.0.1:3000", "10.0.0.0/8", "::1", "192.168.1.7"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"127.0.0.1:3000": true, "127.0.0.1:3001": false, "127.0.0.2:3000": false, "10.1.2.3:80": true, "[::1]:443": true, "[::2]:443": false,
		"[::ffff:127.0.0.1]:3000": true, "192.168.1.7:1": true, "192.168.1.8:1": false, "169.254.169.254:80": false,
	} {
		if got := all.Permits(netip.MustParseAddrPort(text)); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
	for _, bad := range []string{"", "localhost", "example.com", "10.0.0.0/99", "http://10.0.0.1"} {
		if _, err := ParsePrivate([]string{bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
