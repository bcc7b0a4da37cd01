package transport

import (
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// connector is a proxy that opens tunnels, as HTTPS_PROXY names one.
type connector struct {
	tunnels  sync.WaitGroup
	mu       sync.Mutex
	requests []string // host and credentials
}

func (c *connector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only tunnels", http.StatusMethodNotAllowed)
		return
	}
	c.mu.Lock()
	c.requests = append(c.requests, r.Host+" "+r.Header.Get("Proxy-Authorization")+r.Header.Get("Authorization"))
	c.mu.Unlock()
	there, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		there.Close()
		return
	}
	_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
	// Each end closes the other; the test waits for both.
	c.tunnels.Go(func() { _, _ = io.Copy(there, here); there.Close() })
	c.tunnels.Go(func() { _, _ = io.Copy(here, there); here.Close() })
}

// Requests go through the proxy's tunnel: it sees the host and its own password,
// and neither key nor path.
func TestProxyTunnel(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"key":"`+r.Header.Get("Authorization")+`"}`)
	}))
	defer secure.Close()
	c := &connector{}
	proxy := httptest.NewServer(c)
	defer proxy.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	through, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	through.User = url.UserPassword("me", "pass")
	e := Endpoint{
		BaseURL: secure.URL,
		Key:     StaticKey("k"),
		Client:  NewClient(Config{Proxy: http.ProxyURL(through), CAFiles: []string{ca}}),
	}.Prepared()
	var got struct{ Key string }
	if err := e.Get(context.Background(), "/v1/models", &got); err != nil {
		t.Fatal(err)
	}
	e.Client.CloseIdleConnections()
	c.tunnels.Wait()
	want := secure.Listener.Addr().String() + " Basic bWU6cGFzcw=="
	if got.Key != "Bearer k" || len(c.requests) != 1 || c.requests[0] != want {
		t.Errorf("the server got %q, the proxy was asked for %q, want %q", got.Key, c.requests, want)
	}
}
