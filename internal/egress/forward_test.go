package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// origin answers in the ways that a proxy may get wrong.
func origin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Header.Write(w)
		fmt.Fprintf(w, "%s %s %s %d %v %q", r.Method, r.Host, r.URL, r.ContentLength, r.TransferEncoding, body)
	})
	mux.HandleFunc("/hop", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "X-Own")
		w.Header().Set("X-Own", "1")
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("X-Kept", "1")
		w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
		w.WriteHeader(http.StatusTeapot)
	})
	mux.HandleFunc("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		fmt.Fprint(w, "after")
	})
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		fmt.Fprint(w, "body")
		w.Header().Set("X-Sum", "7")
	})
	mux.HandleFunc("/unannounced", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Set(http.TrailerPrefix+"X-Late", "8")
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/upgrade", func(w http.ResponseWriter, r *http.Request) {
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		to := "echo"
		if r.URL.RawQuery != "" {
			to = r.URL.RawQuery
		}
		fmt.Fprintf(both, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", to)
		_ = both.Flush()
		line, _ := both.ReadString('\n')
		fmt.Fprintf(both, "said %s", line)
		_ = both.Flush()
	})
	return mux
}

// say sends a request as it is, and later when an answer begins, and returns all that
// comes back.
func say(t *testing.T, proxy, request, later string) string {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(c)
	if _, err := from.Peek(1); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, later); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(from)
	if err != nil {
		t.Errorf("%s%v", request, err)
	}
	var out []string
	for line := range strings.SplitSeq(string(answer), "\r\n") {
		if !strings.HasPrefix(line, "Date: ") {
			out = append(out, line)
		}
	}
	const goOn = "HTTP/1.1 100 Continue\n\n" // the proxy may say it for itself, and for the server
	return strings.ReplaceAll(strings.Join(out, "\n"), goOn+goOn, goOn)
}

// The gate carries requests as the standard library's proxy does.
func TestForwardsAsTheStandardLibrary(t *testing.T) {
	server := httptest.NewUnstartedServer(origin())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	defer server.Close()
	to := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
		DisableKeepAlives: true, DisableCompression: true,
	}
	theirs := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Header.Del("Proxy-Authorization")
			r.Out.Header.Del("Proxy-Connection")
		},
		Transport: to, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { sayFailure(w, err) },
	})
	theirs.Config.DisableGeneralOptionsHandler = true
	theirs.Start()
	defer theirs.Close()
	_, _, gate := open(t, server.Listener.Addr(), "good.test")
	at, err := url.Parse(gate)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := at.User.Password()
	auth := (&http.Request{Header: http.Header{}})
	auth.SetBasicAuth(at.User.Username(), password)
	for name, request := range map[string]string{
		"get":             "GET http://good.test/echo?a=1&b=%2f HTTP/1.1\r\nHost: good.test\r\n",
		"hop by hop":      "GET http://good.test/echo HTTP/1.1\r\nHost: good.test\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\nTe: trailers, deflate\r\nX-Forwarded-For: me\r\nProxy-Connection: keep-alive\r\nX-Theirs: 2\r\n",
		"agent":           "GET http://good.test/echo HTTP/1.1\r\nHost: good.test\r\nUser-Agent: curl/8\r\nAccept-Encoding: gzip\r\n",
		"answer":          "GET http://good.test/hop HTTP/1.1\r\nHost: good.test\r\n",
		"hints":           "GET http://good.test/hints HTTP/1.1\r\nHost: good.test\r\n",
		"trailers":        "GET http://good.test/trailers HTTP/1.1\r\nHost: good.test\r\nTe: trailers\r\n",
		"late trailers":   "GET http://good.test/unannounced HTTP/1.1\r\nHost: good.test\r\n",
		"cut":             "GET http://good.test/cut HTTP/1.1\r\nHost: good.test\r\n",
		"nothing":         "GET http://good.test/nothing HTTP/1.1\r\nHost: good.test\r\n",
		"head":            "HEAD http://good.test/echo HTTP/1.1\r\nHost: good.test\r\n",
		"old":             "GET http://good.test/echo HTTP/1.0\r\nHost: good.test\r\n",
		"options":         "OPTIONS http://good.test/echo HTTP/1.1\r\nHost: good.test\r\n",
		"body":            "POST http://good.test/echo HTTP/1.1\r\nHost: good.test\r\nContent-Length: 5\r\nX: y\r\nBODYhello",
		"chunks":          "POST http://good.test/echo HTTP/1.1\r\nHost: good.test\r\nTransfer-Encoding: chunked\r\nBODY5\r\nhello\r\n0\r\n\r\n",
		"empty body":      "POST http://good.test/echo HTTP/1.1\r\nHost: good.test\r\nContent-Length: 0\r\n",
		"expects":         "POST http://good.test/echo HTTP/1.1\r\nHost: good.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\nBODYhello",
		"upgrade":         "GET http://good.test/upgrade HTTP/1.1\r\nHost: good.test\r\nUpgrade: echo\r\nLATERhello\n",
		"upgrade unasked": "GET http://good.test/upgrade HTTP/1.1\r\nHost: good.test\r\n",
		"upgrade other":   "GET http://good.test/upgrade?other HTTP/1.1\r\nHost: good.test\r\nUpgrade: echo\r\n",
	} {
		head, later, _ := strings.Cut(request, "LATER")
		head, body, _ := strings.Cut(head, "BODY")
		connection := "Connection: close\r\n"
		switch {
		case strings.Contains(head, "Upgrade:"):
			connection = "Connection: Upgrade\r\n"
		case strings.Contains(head, "Connection: "):
			connection = ""
		}
		request = head + connection + "Proxy-Authorization: " + auth.Header.Get("Authorization") + "\r\n\r\n" + body
		want, got := say(t, theirs.Listener.Addr().String(), request, later), say(t, at.Host, request, later)
		if strings.HasPrefix(name, "upgrade ") { // each has its own words
			want, _, _ = strings.Cut(want, "\n")
			got, _, _ = strings.Cut(got, "\n")
		}
		if want == "" {
			t.Errorf("%s: the standard library's proxy says nothing", name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-httputil +gate):\n%s", name, diff)
		}
	}
}

// The standard library's leaves out what it does not understand of a query, and what is
// said before the protocol has changed: it stands before a server, the gate before a client.
func TestForwardsAll(t *testing.T) {
	server := httptest.NewServer(origin())
	defer server.Close()
	_, _, gate := open(t, server.Listener.Addr(), "good.test")
	at, err := url.Parse(gate)
	if err != nil {
		t.Fatal(err)
	}
	r := &http.Request{Header: http.Header{}}
	password, _ := at.User.Password()
	r.SetBasicAuth(at.User.Username(), password)
	auth := "Proxy-Authorization: " + r.Header.Get("Authorization") + "\r\n\r\n"
	if got := say(t, at.Host, "GET http://good.test/echo?a=1;b=%2f HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n"+auth, ""); !strings.HasSuffix(got, `GET good.test /echo?a=1;b=%2f 0 [] ""`) {
		t.Error(got)
	}
	if got := say(t, at.Host, "GET http://good.test/upgrade HTTP/1.1\r\nHost: good.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n"+auth+"early\n", ""); !strings.HasSuffix(got, "said early\n") {
		t.Error(got)
	}
}
