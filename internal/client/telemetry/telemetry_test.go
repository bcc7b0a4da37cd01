package telemetry

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/metrics"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// runTurn opens a host, has it run a turn with a failing tool call, and closes it.
func runTurn(t *testing.T, exported *Telemetry, observer settle.Observer) {
	t.Helper()
	host, err := exported.Open(t.Context(), settle.Config{Observer: observer})
	if err != nil {
		t.Fatal(err)
	}
	provider := script.New(script.Turn(script.Call("none", "{}")), script.Turn(script.Text("Done.")))
	session, err := host.Session(
		t.Context(), "",
		settle.SessionConfig{Model: model.Config{Provider: provider, Name: "m"}, WorkDir: t.TempDir()},
	)
	if err != nil {
		t.Fatal(err)
	}
	running, err := session.Submit(t.Context(), "hi")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := running.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := host.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// collect returns the address of a collector, and a function that returns the paths of the received
// requests.
func collect(t *testing.T) (url string, paths func() string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, r.URL.Path)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(all, " ")
	}
}

func variables(all map[string]string) func(string) string {
	return func(name string) string { return all[name] }
}

// TestBothObserve: the host's own observer still receives everything.
func TestBothObserve(t *testing.T) {
	url, paths := collect(t)
	exported := New(variables(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": url}))
	var m metrics.Meter
	runTurn(t, exported, settle.Observer{Turn: m.Turn, Attempt: m.Attempt, Output: m.Output, Call: m.Call})
	if err := exported.Close(); err != nil {
		t.Error(err)
	}
	exported.client.CloseIdleConnections()
	if got := paths(); got != "/v1/traces /v1/metrics" && got != "/v1/metrics /v1/traces" {
		t.Errorf("the collector was sent %q", got)
	}
	counted := m.Write(metrics.Held{})
	for _, want := range []string{
		`settle_turns_total{outcome="completed",cause=""} 1`, `outcome="completed"} 2`,
		"settle_turns_running 0",
	} {
		if !strings.Contains(counted, want) {
			t.Errorf("there is no %s in:\n%s", want, counted)
		}
	}
}

func TestOffByDefault(t *testing.T) {
	exported := New(variables(map[string]string{"OTEL_SERVICE_NAME": "a"}))
	runTurn(t, exported, settle.Observer{})
	if exported.exporter != nil || exported.Close() != nil {
		t.Error("something was exported")
	}
	runTurn(t, nil, settle.Observer{})
}

// TestInvalid: an invalid setting is reported once, and only if something would be exported.
func TestInvalid(t *testing.T) {
	environ := variables(map[string]string{"OTEL_TRACES_EXPORTER": "console"})
	const want = "telemetry: OTEL_TRACES_EXPORTER=console: use otlp or none"
	if err := New(environ).Close(); err != nil {
		t.Error(err)
	}
	exported := New(environ)
	runTurn(t, exported, settle.Observer{})
	if err := exported.Close(); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	var reports []error
	exported = New(environ)
	exported.Report = func(err error) { reports = append(reports, err) }
	runTurn(t, exported, settle.Observer{})
	runTurn(t, exported, settle.Observer{})
	if err := exported.Close(); err != nil || len(reports) != 1 {
		t.Errorf("%v, %v", err, reports)
	}
}

// TestPartsOfObservers: hooks that are not set are not called.
func TestPartsOfObservers(t *testing.T) {
	url, _ := collect(t)
	exported := New(variables(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": url}))
	turns := 0
	runTurn(t, exported, settle.Observer{Turn: func(context.Context, event.Event) (context.Context, func(event.Event)) {
		turns++
		return nil, nil
	}})
	if err := exported.Close(); err != nil || turns != 1 {
		t.Errorf("%v, %d turns", err, turns)
	}
	exported.client.CloseIdleConnections()
}

// TestRedirects: headers and spans go to the host that the variables name, and no other,
// and not in the clear.
func TestRedirects(t *testing.T) {
	other, paths := collect(t)
	for name, c := range map[string]struct {
		start func(http.Handler) *httptest.Server
		to    string // where the collector redirects; HOST is its own
		want  string // the error of Close
	}{
		"another host": {
			httptest.NewServer, other + "/elsewhere?key=SECRET",
			"telemetry: cannot export spans to http://HOST/v1/traces: 307 Temporary Redirect: the redirect to " + other +
				"/elsewhere?*** is not followed; check the endpoint",
		},
		"plain HTTP": {
			httptest.NewTLSServer, "http://HOST/elsewhere",
			"telemetry: cannot export spans to https://HOST/v1/traces: 307 Temporary Redirect: the redirect to http://HOST/elsewhere is not followed; check the endpoint",
		},
		"the same": {httptest.NewServer, "/elsewhere", ""},
		"itself": {
			httptest.NewServer, "/v1/traces",
			"telemetry: cannot export spans to http://HOST/v1/traces: 307 Temporary Redirect: the redirect to http://HOST/v1/traces is not followed; check the endpoint",
		},
	} {
		t.Run(name, func(t *testing.T) {
			taken := make(chan string, 10)
			server := c.start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/traces" {
					http.Redirect(w, r, strings.ReplaceAll(c.to, "HOST", r.Host), http.StatusTemporaryRedirect)
					return
				}
				body, err := io.ReadAll(r.Body)
				taken <- fmt.Sprintf("%s %t %v", r.Header.Get("x-key"), len(body) > 0, err)
			}))
			defer server.Close()
			exported := New(variables(map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_METRICS_EXPORTER": "none",
				"OTEL_EXPORTER_OTLP_HEADERS": "x-key=SECRET", "OTEL_EXPORTER_OTLP_CERTIFICATE": certificate(t, server),
			}))
			defer exported.client.CloseIdleConnections()
			runTurn(t, exported, settle.Observer{})
			got := ""
			if err := exported.Close(); err != nil {
				got = strings.ReplaceAll(err.Error(), server.Listener.Addr().String(), "HOST")
			}
			if got != c.want || paths() != "" {
				t.Errorf("got %q, want %q; the other host was sent %q", got, c.want, paths())
			}
			close(taken)
			if all := <-taken; (c.want == "") != (all == "SECRET true <nil>") {
				t.Errorf("the same host was sent %q", all)
			}
		})
	}
}

// certificate returns a file with the certificate of a server, if that has one.
func certificate(t *testing.T, server *httptest.Server) string {
	t.Helper()
	if server.TLS == nil {
		return ""
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(
		file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600,
	); err != nil {
		t.Fatal(err)
	}
	return file
}
