package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/model"
)

// Config configures connections to a provider. The zero Config is good for a direct connection with
// the system's root certificates.
type Config struct {
	// Proxy chooses a request's proxy. A program passes
	// http.ProxyFromEnvironment to honour HTTPS_PROXY and NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)
	// CAFiles are PEM files with root certificates to trust beside the
	// system's, such as a provider's ca_file and SSL_CERT_FILE.
	CAFiles []string
	// DialTimeout bounds connecting to one address, and separately the TLS
	// handshake; 30 s if it is 0.
	DialTimeout time.Duration
	// Dial connects; nil does it directly.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

const (
	defaultDialTimeout = 30 * time.Second
	// A pooled HTTP/2 connection that went dead while the machine slept is
	// found by a ping after this long without a frame.
	pingDelay   = 15 * time.Second
	pingTimeout = 15 * time.Second
	idleTimeout = 90 * time.Second
)

// NewClient returns an HTTP client for streams of any length, which follows redirects
// only on the same server ([egress.SameServer]). Certificates
// are read when the first https request is made, and the embedded roots are
// parsed only if the system has none.
func NewClient(c Config) *http.Client {
	if c.DialTimeout == 0 {
		c.DialTimeout = defaultDialTimeout
	}
	return egress.SameServer(&http.Client{Transport: &lazyTransport{
		plain:  c.transport(nil),
		secure: sync.OnceValues(c.secure),
	}})
}

// lazyTransport leaves certificates alone until they are needed: a local
// server over plain http needs none.
type lazyTransport struct {
	plain  *http.Transport
	secure func() (*http.Transport, error)
}

func (t *lazyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" {
		return t.plain.RoundTrip(req)
	}
	secure, err := t.secure()
	if err != nil {
		return nil, model.NewError(model.ErrInvalid, "%w", err)
	}
	return secure.RoundTrip(req)
}

// CloseIdleConnections makes http.Client.CloseIdleConnections work.
func (t *lazyTransport) CloseIdleConnections() {
	t.plain.CloseIdleConnections()
	if secure, err := t.secure(); err == nil {
		secure.CloseIdleConnections()
	}
}

func (c Config) secure() (*http.Transport, error) {
	roots, err := c.roots()
	if err != nil {
		return nil, err
	}
	return c.transport(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}), nil
}

func (c Config) transport(t *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: c.DialTimeout, KeepAlive: 30 * time.Second}
	dial := c.Dial
	if dial == nil {
		dial = dialer.DialContext
	}
	return &http.Transport{
		Proxy:               c.Proxy,
		DialContext:         dial,
		TLSClientConfig:     t,
		TLSHandshakeTimeout: c.DialTimeout,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingDelay, PingTimeout: pingTimeout},
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     idleTimeout,
		// A request is a few writes, and an answer is read in pieces of the size of the reader's buffer;
		// a host has a connection for each of its streams.
		WriteBufferSize: 1 << 10, ReadBufferSize: 1 << 10,
		// A compressing proxy may hold events back until its window is full.
		DisableCompression: true,
	}
}

// maxRoots bounds a file of root certificates, in bytes.
const maxRoots = 16 << 20

// roots returns the trusted certificates; nil means the system's.
func (c Config) roots() (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil || pool.Equal(x509.NewCertPool()) {
		pool = embeddedRoots()
	} else if len(c.CAFiles) == 0 {
		return nil, nil
	}
	for _, name := range c.CAFiles {
		pem, err := disk.ReadRegular(name, maxRoots)
		if err != nil {
			return nil, fmt.Errorf("cannot read root certificates: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("cannot read root certificates: %q has no certificate in PEM form", name)
		}
	}
	return pool, nil
}

// embeddedRoots returns Mozilla's root certificates, for machines that have
// none of their own, such as containers from scratch.
func embeddedRoots() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			continue // a form that this Go no longer accepts
		}
		if root.Constraint == nil {
			pool.AddCert(cert)
			continue
		}
		pool.AddCertWithConstraint(cert, root.Constraint)
	}
	return pool
}
