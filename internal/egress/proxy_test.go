package egress

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// world is a name server and the hosts that it knows, all of which are one server.
type world struct {
	server net.Addr
	mu     sync.Mutex
	dialed []string
}

func (w *world) dialer() Dialer {
	return Dialer{
		Lookup: names{
			"good.test":     {addresses("1.1.1.1")},
			"sub.good.test": {addresses("1.1.1.2")},
			"private.test":  {addresses("10.0.0.1")},
			"other.test":    {addresses("9.9.9.9")},
		}.lookup,
		Connect: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			w.mu.Lock()
			w.dialed = append(w.dialed, to.String())
			w.mu.Unlock()
			var d net.Dialer
			return d.DialContext(ctx, "tcp", w.server.String())
		},
	}
}

func list(t testing.TB, texts ...string) List {
	t.Helper()
	l, err := ParseList(texts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// open returns a proxy to a server, and where it is.
func open(t *testing.T, server net.Addr, hosts ...string) (*Proxy, *world, string) {
	t.Helper()
	w := &world{server: server}
	g := NewProxy(list(t, hosts...), w.dialer())
	t.Cleanup(g.Close)
	port, err := g.Listen()
	if err != nil {
		t.Fatal(err)
	}
	return g, w, g.URL(port)
}

func refusals(g *Proxy) string {
	var list []string
	for _, r := range g.Refused() {
		list = append(list, r.String())
	}
	return strings.Join(list, "; ")
}

// through is a client that has the proxy at proxyURL as its proxy.
func through(t *testing.T, proxyURL string, server *httptest.Server) *http.Client {
	t.Helper()
	at, err := url.Parse(proxyURL)
	if err != nil {
		t.Fatal(err)
	}
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(at)
	if transport.TLSClientConfig != nil {
		transport.TLSClientConfig.ServerName = "example.com" // the certificate's
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func fetch(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body)
}

func TestGateCarriesHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %q", r.Host, r.URL, r.Header.Get("Proxy-Authorization"))
	}))
	defer server.Close()
	for _, protocol := range []string{"http", "socks5h"} {
		g, w, proxyURL := open(t, server.Listener.Addr(), "good.test", "*.good.test:8080", "private.test")
		c := through(t, strings.Replace(proxyURL, "http", protocol, 1), server)
		for at, want := range map[string]string{
			"http://good.test/path?q=1":         `200 good.test /path?q=1 ""`,
			"http://good.test/path?q;r=%zz":     `200 good.test /path?q;r=%zz ""`,
			"http://sub.good.test:8080/":        `200 sub.good.test:8080 / ""`,
			"http://GOOD.test./":                `200 GOOD.test. / ""`,
			"http://sub.good.test/":             "403 settle: the sandbox denied connecting to sub.good.test:80 (not an allowed host)\n",
			"http://other.test/":                "403 settle: the sandbox denied connecting to other.test:80 (not an allowed host)\n",
			"http://good.test:81/":              "403 settle: the sandbox denied connecting to good.test:81 (not an allowed host)\n",
			"http://private.test/":              "403 settle: the sandbox denied connecting to private.test:80 (10.0.0.1 is not a public address)\n",
			"http://127.0.0.1/":                 "403 settle: the sandbox denied connecting to 127.0.0.1:80 (not an allowed host)\n",
			"http://[::ffff:169.254.169.254]/":  "403 settle: the sandbox denied connecting to 169.254.169.254:80 (not an allowed host)\n",
			"http://good.test.evil.test/":       "403 settle: the sandbox denied connecting to good.test.evil.test:80 (not an allowed host)\n",
			"http://evilgood.test/":             "403 settle: the sandbox denied connecting to evilgood.test:80 (not an allowed host)\n",
			"http://good.test@other.test:80/":   "403 settle: the sandbox denied connecting to other.test:80 (not an allowed host)\n",
			"http://good.test:80@127.0.0.1:80/": "403 settle: the sandbox denied connecting to 127.0.0.1:80 (not an allowed host)\n",
		} {
			code, body := fetch(t, c, at)
			if protocol != "http" { // SOCKS has no words
				want = strings.SplitAfter(want, " ")[0]
				if body = ""; code == 0 {
					code = 403
				}
			}
			if got := fmt.Sprint(code, " ", body); got != want {
				t.Errorf("%s: %s: %s, want %s", protocol, at, got, want)
			}
		}
		for _, to := range w.dialed {
			if to != "1.1.1.1:80" && to != "1.1.1.2:8080" {
				t.Errorf("%s: connected to %s", protocol, to)
			}
		}
		if got := refusals(g); !strings.Contains(got, "connecting to other.test:80 (not an allowed host)") ||
			!strings.Contains(got, "(10.0.0.1 is not a public address)") {
			t.Errorf("%s: refused %s", protocol, got)
		}
	}
}

func TestGateCarriesTLS(t *testing.T) {
	server := httptest.NewTLSServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "secure ", r.Host) }),
	)
	defer server.Close()
	for _, protocol := range []string{"http", "socks5h"} {
		g, _, proxyURL := open(t, server.Listener.Addr(), "good.test")
		c := through(t, strings.Replace(proxyURL, "http", protocol, 1), server)
		if code, body := fetch(t, c, "https://good.test/"); code != 200 || body != "secure good.test" {
			t.Errorf("%s: %d %s", protocol, code, body)
		}
		if code, body := fetch(t, c, "https://other.test/"); code != 0 ||
			refusals(g) != "connecting to other.test:443 (not an allowed host)" {
			t.Errorf("%s: %d %s; refused %s", protocol, code, body, refusals(g))
		}
	}
}

// Another user of the machine, who finds the port, reaches nothing.
func TestGateKnowsItsCommand(t *testing.T) {
	server := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "reached") }),
	)
	defer server.Close()
	g, w, proxyURL := open(t, server.Listener.Addr(), "good.test")
	secret := strings.Split(strings.TrimPrefix(proxyURL, "http://settle:"), "@")[0]
	for _, who := range []string{"", "settle:@", "settle:wrong@", ":" + secret + "@", "other:" + secret + "@", "settle:" + secret + "x@", "settle:" + secret[1:] + "@"} {
		for _, protocol := range []string{"http://", "socks5h://"} {
			code, body := fetch(t, through(t, protocol+who+strings.Split(proxyURL, "@")[1], server), "http://good.test/")
			if want := map[string]int{"http://": 407, "socks5h://": 0}[protocol]; code != want ||
				strings.Contains(body, "reached") ||
				strings.Contains(body, secret) {
				t.Errorf("%s%s: %d %s", protocol, who, code, body)
			}
		}
	}
	if len(w.dialed) > 0 || g.Refused() != nil {
		t.Errorf("connected to %s, refused %v", w.dialed, g.Refused())
	}
}

// A connection that runs on when its command has ended is cut.
func TestCloseCuts(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() { // ends with the listener
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { // ends with the connection
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	g, _, proxyURL := open(t, echo.Addr(), "good.test")
	at, _ := url.Parse(proxyURL)
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := ask(conn, at.User, Target{"good.test", 22}); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Dial("tcp", at.Host) // says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if _, err := fmt.Fprint(conn, "through"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 7)
	if _, err := io.ReadFull(conn, buf); err != nil || string(buf) != "through" {
		t.Fatalf("%q, %v", buf, err)
	}
	g.Close()
	for _, c := range []net.Conn{conn, silent} {
		if n, err := c.Read(buf); err == nil {
			t.Errorf("read %q", buf[:n])
		}
	}
	if c, err := net.Dial("tcp", at.Host); err == nil {
		_ = c.Close()
		t.Error("the proxy is still open")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.Serve(l) // too late
	if c, err := l.Accept(); err == nil {
		_ = c.Close()
		t.Error("a closed proxy listens")
	}
}

// Clients that send nothing, or too much, are disconnected.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Minute) // virtual: package http lingers on a connection that it has refused
		g := NewProxy(list(t, "*"), Dialer{})
		defer g.Close()
		for name, speak := range map[string]func(net.Conn){
			"silence":          func(net.Conn) {},
			"a byte":           func(c net.Conn) { _, _ = c.Write([]byte{5}) },
			"half a request":   func(c net.Conn) { _, _ = io.WriteString(c, "CONNECT good") },
			"an endless head":  func(c net.Conn) { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 1<<20)) },
			"half of SOCKS":    func(c net.Conn) { _, _ = c.Write([]byte{5, 9, 2}) },
			"no known methods": func(c net.Conn) { _, _ = c.Write([]byte{5, 1, 0}) },
		} {
			ours, theirs := net.Pipe()
			g.Serve(&single{conn: theirs, done: g.ctx.Done()})
			began := time.Now()
			go speak(ours)
			_, _ = io.Copy(io.Discard, ours) // until it is cut
			if took := time.Since(began); took > 2*helloTimeout {
				t.Errorf("%s: it took %v", name, took)
			}
			_ = ours.Close()
		}
	})
}

// single is a listener that one connection comes to.
type single struct {
	conn net.Conn
	done <-chan struct{}
}

func (s *single) Accept() (net.Conn, error) {
	if c := s.conn; c != nil {
		s.conn = nil
		return c, nil
	}
	<-s.done
	return nil, net.ErrClosed
}
func (s *single) Close() error   { return nil }
func (s *single) Addr() net.Addr { return &net.TCPAddr{} }

// A tunnel through which nothing goes is cut, and one that is used is not.
func TestIdleTunnel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Minute) // virtual, as above
		far, theirs := net.Pipe()
		g := NewProxy(list(t, "good.test"), Dialer{
			Lookup:  names{"good.test": {addresses("1.1.1.1")}}.lookup,
			Connect: func(context.Context, netip.AddrPort) (net.Conn, error) { return theirs, nil },
		})
		defer g.Close()
		ours, served := net.Pipe()
		g.Serve(&single{conn: served, done: g.ctx.Done()})
		if err := ask(ours, url.UserPassword(proxyUser, g.secret), Target{"good.test", 443}); err != nil {
			t.Fatal(err)
		}
		began, buf := time.Now(), make([]byte, 1)
		for range 5 {
			time.Sleep(idleTimeout - time.Second)
			if _, err := far.Write([]byte{1}); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(ours, buf); err != nil {
				t.Fatal(err)
			}
		}
		_, err := ours.Read(buf)
		if took := time.Since(began); err == nil || took != 6*idleTimeout-5*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		_, _ = ours.Close(), far.Close()
	})
}

// More connections than a command may have wait.
func TestManyConnections(t *testing.T) {
	server := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "reached") }),
	)
	defer server.Close()
	_, _, proxyURL := open(t, server.Listener.Addr(), "good.test")
	at, _ := url.Parse(proxyURL)
	var held []net.Conn
	for range maxConns {
		c, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	answer := make(chan string)
	go func() { // ends with the request
		_, body := fetch(t, through(t, proxyURL, server), "http://good.test/")
		answer <- body
	}()
	select {
	case body := <-answer:
		t.Errorf("%q, beside %d connections", body, maxConns)
	default:
	}
	for _, c := range held {
		_ = c.Close()
	}
	if body := <-answer; body != "reached" {
		t.Error(body)
	}
}

func TestSOCKSAnswers(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	g, _, proxyURL := open(t, server.Listener.Addr(), "good.test", "10.0.0.1:80", "9.9.9.9")
	at, _ := url.Parse(proxyURL)
	name := func(host string, port uint16) []byte {
		return binary.BigEndian.AppendUint16(append([]byte{5, 1, 0, 3, byte(len(host))}, host...), port)
	}
	for want, requests := range map[byte][][]byte{
		0: {name("good.test", 80), {5, 1, 0, 1, 10, 0, 0, 1, 0, 80}, {5, 1, 0, 1, 9, 9, 9, 9, 0, 80}, {5, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 9, 9, 9, 9, 0, 80}},
		2: {name("other.test", 80), {5, 1, 0, 1, 127, 0, 0, 1, 0, 80}, {5, 1, 0, 1, 10, 0, 0, 1, 0, 81}, {5, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 80}},
		7: {{5, 2, 0, 1, 9, 9, 9, 9, 0, 80}, {5, 3, 0, 1, 9, 9, 9, 9, 0, 80}},
		8: {name("good test", 80), {5, 1, 0, 2, 9, 9, 9, 9, 0, 80}, name("", 80)},
	} {
		for _, request := range requests {
			c, err := net.Dial("tcp", at.Host)
			if err != nil {
				t.Fatal(err)
			}
			hello := append([]byte{5, 2, 0, 2, 1, byte(len(proxyUser))}, proxyUser...)
			hello = append(append(hello, byte(len(g.secret))), g.secret...)
			if _, err := c.Write(append(hello, request...)); err != nil {
				t.Fatal(err)
			}
			answer := make([]byte, 6)
			if _, err := io.ReadFull(bufio.NewReader(c), answer); err != nil || answer[5] != want {
				t.Errorf("%v: %v, %v, want %d", request, answer, err, want)
			}
			_ = c.Close()
		}
	}
}

// ask requests a connection to a target. It reads the head of the response, and no byte after it.
func ask(conn net.Conn, who *url.Userinfo, t Target) error {
	_ = conn.SetDeadline(time.Now().Add(helloTimeout + dialTimeout))
	password, _ := who.Password()
	code := base64.StdEncoding.EncodeToString([]byte(who.Username() + ":" + password))
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\n\r\n", t, t, code); err != nil {
		return fmt.Errorf("cannot ask the sandbox's proxy: %w", err)
	}
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); {
		if _, err := io.ReadFull(conn, one); err != nil {
			return fmt.Errorf("cannot ask the sandbox's proxy: %w", err)
		}
		if head = append(head, one[0]); len(head) > maxHeader {
			return errors.New("cannot ask the sandbox's proxy: its answer is too long")
		}
	}
	line, _, _ := strings.Cut(string(head), "\r\n")
	if fields := strings.Fields(line); len(fields) < 2 || fields[1] != "200" {
		why, _ := io.ReadAll(io.LimitReader(conn, 1<<10))
		return errors.New(strings.TrimSpace(strings.TrimSpace(line) + ": " + strings.TrimSpace(string(why))))
	}
	return conn.SetDeadline(time.Time{})
}
