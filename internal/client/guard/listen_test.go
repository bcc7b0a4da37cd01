package guard_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/guard"
)

// An address that other machines can reach needs TLS, or an explicit flag.
func TestListen(t *testing.T) {
	for _, c := range []struct {
		address guard.Address
		refused bool
	}{
		{guard.Address{Addr: "127.0.0.1:0"}, false},
		{guard.Address{Addr: "localhost:0"}, false},
		{guard.Address{Addr: ":0"}, true},
		{guard.Address{Addr: "0.0.0.0:0"}, true},
		{guard.Address{Addr: "[::]:0"}, true},
		{guard.Address{Addr: "192.0.2.1:0"}, true},
		{guard.Address{Addr: "0.0.0.0:0", Insecure: true}, false},
		{guard.Address{Addr: "0.0.0.0:0", TLS: &tls.Config{MinVersion: tls.VersionTLS12}}, false},
		{guard.Address{Addr: "127.0.0.1"}, true},
		{guard.Address{Addr: "127.0.0.1:port"}, true},
	} {
		place, err := guard.Listen(t.Context(), c.address)
		if refused := err != nil; refused != c.refused {
			t.Errorf("%+v: %v", c.address, err)
		}
		if err != nil {
			continue
		}
		link := place.Link("", "token")
		if scheme := "http://"; c.address.TLS == nil && !strings.HasPrefix(link, scheme) || !strings.HasSuffix(
			link, "/#token=token",
		) {
			t.Errorf("the link is %q", link)
		}
		if err := place.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestToken(t *testing.T) {
	if a, b := guard.NewToken(), guard.NewToken(); a == b || len(a) != 64 {
		t.Errorf("tokens are %q and %q", a, b)
	}
	dir := t.TempDir()
	for text, want := range map[string]string{
		"  0123456789abcdef\n": "0123456789abcdef", "": "", "short": "", "0123456789 abcdef": "", "0123456789abcdef\x00": "",
		strings.Repeat("x", 5000): "",
	} {
		path := filepath.Join(dir, "token")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := guard.ReadToken(path); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := guard.ReadToken(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a token that is not there")
	}
}
