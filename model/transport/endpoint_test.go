package transport_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

func TestStream(t *testing.T) {
	reads := 0
	server := &wiretest.Server{Body: ": hello\n\ndata: a\n\ndata: nothing\n\ndata: end\n\ndata: late\n\n"}
	e := transport.Endpoint{Client: server.Client(), BaseURL: "http://h/v1"}.Prepared()
	var got []model.ChunkKind
	r := &transport.Request{Path: "/x", Body: []byte("{}"), Activity: func() { reads++ }}
	for c, err := range e.Stream(t.Context(), r, lines{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Kind)
	}
	if diff := cmp.Diff([]model.ChunkKind{model.Ping, model.Delta, model.Ping, model.End}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if reads != 2 {
		t.Errorf("activity was reported %d times, want once for headers and once for the read", reads)
	}
	for range e.Stream(t.Context(), r, lines{}) {
		break // a reader that stops is not called again
	}
}

func TestCancelBeforeHeaders(t *testing.T) {
	cause := errors.New("stalled")
	ctx, cancel := context.WithCancelCause(t.Context())
	arrived := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client is gone
		close(arrived)
		<-r.Context().Done()
	}))
	defer server.Close()
	go func() { // ends with the request
		<-arrived
		cancel(cause)
	}()
	if _, err := send(ctx, transport.Endpoint{BaseURL: server.URL}); !errors.Is(err, cause) {
		t.Errorf("error %v, want the cause", err)
	}
	if _, err := send(ctx, transport.Endpoint{BaseURL: server.URL}); !errors.Is(err, cause) {
		t.Errorf("cancelled before: error %v, want the cause", err)
	}
}

func TestConnectionRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	f := fault(t, transport.Endpoint{BaseURL: "http://u:secret@" + address + "/v1?key=secret"})
	if f.Kind != model.ErrConnection || f.URL != "http://"+address+"/v1/x" || strings.Contains(f.Error(), "secret") {
		t.Errorf("kind %q, URL %q, error %v", f.Kind, f.URL, f)
	}
}

func TestBaseURL(t *testing.T) {
	for _, base := range []string{"", "localhost:8000", "ftp://h", "http://", "http://h:port", "://secret"} {
		e := (transport.Endpoint{BaseURL: base}).Prepared()
		_, err := func() (int, error) {
			for _, err := range e.Stream(t.Context(), &transport.Request{Path: "/x"}, lines{}) {
				return 0, err
			}
			return 0, nil
		}()
		var f *model.Error
		if !errors.As(err, &f) || f.Kind != model.ErrInvalid || f.Hint == "" || strings.Contains(f.Error(), "secret") {
			t.Errorf("%q: error %v", base, err)
		}
	}
}

func TestKey(t *testing.T) {
	server := &wiretest.Server{Body: "data: end\n\n"}
	broken := func(context.Context) (string, error) { return "", errors.New("pass: not found") }
	f := fault(t, transport.Endpoint{Client: server.Client(), Key: broken, AuthHint: "set X"})
	if f.Kind != model.ErrAuth || f.Hint != "set X" || len(server.Sent()) != 0 {
		t.Errorf("%+v", f)
	}
	for _, key := range []string{"", "k"} {
		if _, err := send(t.Context(), transport.Endpoint{Client: server.Client(), BaseURL: "http://h/v1", Key: transport.StaticKey(key)}); err != nil {
			t.Fatal(err)
		}
	}
	sent := server.Sent()
	if sent[0].Header.Get("Authorization") != "" || sent[1].Header.Get("Authorization") != "Bearer k" {
		t.Errorf("headers %v", sent)
	}
}

func TestRedirectsKeepTheKey(t *testing.T) {
	var leaked bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked = true }))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/away/x", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/x?q=1", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc(
		"/get/x",
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/v1/x", http.StatusFound) },
	)
	mux.HandleFunc("/here/x", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/v1/x", http.StatusPermanentRedirect)
	})
	asked := 0
	mux.HandleFunc("/self/x", func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "/self/x", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/v1/x", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: end\n\n")
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	e := transport.Endpoint{BaseURL: server.URL + "/away", Header: http.Header{"X-Api-Key": {"k"}}}
	f := fault(t, e)
	if leaked || f.Kind != model.ErrInvalid || !strings.Contains(f.Hint, other.URL+"/x") ||
		strings.Contains(f.Hint, "q=1") {
		t.Errorf("leaked: %v, error %v", leaked, f)
	}
	e.BaseURL = server.URL + "/get"
	if f := fault(t, e); f.Kind != model.ErrInvalid {
		t.Errorf("a redirect that changes the method: %v", f)
	}
	e.BaseURL = server.URL + "/here"
	if _, err := send(t.Context(), e); err != nil {
		t.Errorf("a redirect on the same host: %v", err)
	}
	e.BaseURL = server.URL + "/self"
	if f := fault(t, e); f.Kind != model.ErrInvalid || asked != 6 {
		t.Errorf("a redirect to itself: %v after %d requests", f, asked)
	}
}

func TestGzipThoughNotAskedFor(t *testing.T) {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	fmt.Fprint(zip, "data: a\n\ndata: end\n\n")
	zip.Close()
	server := &wiretest.Server{
		Body:   b.String(),
		Header: http.Header{"Content-Encoding": {"gzip"}, "Content-Type": {"text/event-stream"}},
	}
	got, err := send(t.Context(), transport.Endpoint{Client: server.Client()})
	if err != nil || len(got) != 2 || got[0].Text != "a" {
		t.Errorf("%d chunks, error %v", len(got), err)
	}
	if server.Sent()[0].Header.Get("Accept-Encoding") != "identity" {
		t.Error("compression was asked for")
	}
}

func TestTLS(t *testing.T) {
	var proto string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto = r.Proto
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: end\n\n")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()

	f := fault(t, transport.Endpoint{BaseURL: server.URL})
	if f.Kind != model.ErrConnection || !strings.Contains(f.Hint, "ca_file") {
		t.Errorf("an unknown authority: %v", f)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	client := transport.NewClient(transport.Config{CAFiles: []string{file}})
	defer client.CloseIdleConnections()
	if _, err := send(t.Context(), transport.Endpoint{BaseURL: server.URL, Client: client}); err != nil ||
		proto != "HTTP/2.0" {
		t.Errorf("with its certificate: error %v, protocol %q", err, proto)
	}
	for _, bad := range []string{filepath.Join(dir, "none.pem"), os.DevNull} {
		client := transport.NewClient(transport.Config{CAFiles: []string{bad}})
		if f := fault(t, transport.Endpoint{BaseURL: server.URL, Client: client}); f.Kind != model.ErrInvalid ||
			!strings.Contains(f.Message, "certificates") {
			t.Errorf("%s: %v", bad, f)
		}
	}
}

func TestBody(t *testing.T) {
	v := struct {
		A int `json:"a"`
		B int `json:"b"`
	}{1, 2}
	got, err := transport.Body(v, map[string]any{"b": nil, "c": []int{3}, "a": "x"})
	if err != nil || string(got) != `{"a":"x","c":[3]}` {
		t.Errorf("%s, error %v", got, err)
	}
	if _, err := transport.Body(v, map[string]any{"c": func() {}}); err == nil {
		t.Error("what cannot be encoded was")
	}
	for in, want := range map[string]string{
		"": `{}`, ` {"a":1} `: `{"a":1}`, `{"a`: `{"invalid_json":"{\"a"}`, `[1]`: `{"invalid_json":"[1]"}`, "5": `{"invalid_json":"5"}`,
	} {
		if got := string(transport.Arguments(in)); got != want {
			t.Errorf("Arguments(%q) = %s, want %s", in, got, want)
		}
	}
}
