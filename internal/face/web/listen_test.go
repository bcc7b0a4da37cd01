package web_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/face/web"
)

// What others can reach needs TLS, or a word that it is meant.
func TestListen(t *testing.T) {
	for _, c := range []struct {
		address web.Address
		refused bool
	}{
		{web.Address{Addr: "127.0.0.1:0"}, false},
		{web.Address{Addr: "localhost:0"}, false},
		{web.Address{Addr: ":0"}, true},
		{web.Address{Addr: "0.0.0.0:0"}, true},
		{web.Address{Addr: "[::]:0"}, true},
		{web.Address{Addr: "192.0.2.1:0"}, true},
		{web.Address{Addr: "0.0.0.0:0", Insecure: true}, false},
		{web.Address{Addr: "0.0.0.0:0", TLS: &tls.Config{MinVersion: tls.VersionTLS12}}, false},
		{web.Address{Addr: "127.0.0.1"}, true},
		{web.Address{Addr: "127.0.0.1:port"}, true},
	} {
		place, err := web.Listen(t.Context(), c.address)
		if refused := err != nil; refused != c.refused {
			t.Errorf("%+v: %v", c.address, err)
		}
		if err != nil {
			continue
		}
		link := place.Link("", token)
		if scheme := "http://"; c.address.TLS == nil && !strings.HasPrefix(link, scheme) || !strings.HasSuffix(link, "/?token="+token) {
			t.Errorf("the link is %q", link)
		}
		if err := place.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestToken(t *testing.T) {
	if a, b := web.NewToken(), web.NewToken(); a == b || len(a) != 64 {
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
		if got, err := web.ReadToken(path); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := web.ReadToken(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a token that is not there")
	}
}

// Streams live on over HTTP/2, where a deadline that has passed would end them
// also between writes.
func TestEncrypted(t *testing.T) {
	template := httptest.NewTLSServer(http.NotFoundHandler())
	certificate, client := template.TLS.Certificates[0], template.Client()
	template.Close()
	encryption := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	place, err := web.Listen(t.Context(), web.Address{Addr: "127.0.0.1:0", TLS: encryption})
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(place.Link("", ""), "/")
	s := setup{base: base, listen: func() (net.Listener, *http.Client) {
		transport := client.Transport.(*http.Transport).Clone()
		transport.ForceAttemptHTTP2 = true
		return place, &http.Client{Transport: transport}
	}}
	s.limits.WriteTimeout, s.limits.HeartbeatDelay = 100*time.Millisecond, 250*time.Millisecond
	b := serve(t, s)
	session := b.session("s")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all, err := b.connect(ctx, session, 1)
	if err != nil {
		t.Fatal(err)
	}
	beats := 0
	for _, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		if beats++; beats == 4 {
			break
		}
	}
	if beats < 4 {
		t.Errorf("the stream ended after %d heartbeats", beats)
	}
}
