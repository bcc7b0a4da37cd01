package web_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/client/guard"
)

// Streams live on over HTTP/2, where a deadline that has passed would end them
// also between writes.
func TestEncrypted(t *testing.T) {
	template := httptest.NewTLSServer(http.NotFoundHandler())
	certificate, client := template.TLS.Certificates[0], template.Client()
	template.Close()
	encryption := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	place, err := guard.Listen(t.Context(), guard.Address{Addr: "127.0.0.1:0", TLS: encryption})
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
