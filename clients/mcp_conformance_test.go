//go:build clients && linux

package clients

import (
	"bufio"
	"context"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/guard"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/frontend/mcp"
	"github.com/settle-agent/settle/modeltest"
)

// knocked returns an address that adds the token, which the suite cannot, and
// changes nothing else: names and origins are the suite's.
func knocked(t *testing.T, address, token string) string {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
	})
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front.URL + to.Path
}

// scenarios returns the names of the suite's server scenarios.
func scenarios(t *testing.T) []string {
	t.Helper()
	r := bin(t, "conformance", "list", "--server").run(t)
	part, _, _ := strings.Cut(r.stdout, "Client scenarios")
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^\s+- (\S+) \[`).FindAllStringSubmatch(part, -1) {
		all = append(all, m[1])
	}
	if len(all) < 30 {
		t.Fatalf("the suite has the scenarios %q\n%s", all, r.stderr)
	}
	return all
}

// conform runs one scenario.
func conform(t *testing.T, address, scenario string) {
	t.Run(scenario, func(t *testing.T) {
		r := bin(t, "conformance", "server", "--url", address, "--scenario", scenario).run(t)
		if r.code != 0 || !strings.Contains(r.stdout, "0 failed") {
			t.Errorf("exit code %d\n%s\n%s", r.code, r.stdout, r.stderr)
		}
	})
}

// Every scenario for servers passes with the suite's own tools behind settle's
// endpoint.
func TestMCPConformance(t *testing.T) {
	place, err := guard.Listen(t.Context(), guard.Address{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	token := guard.NewToken()
	endpoint := &mcp.Endpoint{
		Server: fixture(),
		Token:  token,
		Close:  func(context.Context, event.Reason, string) error { return nil },
	}
	stops, ended := make(chan stdio.Stop, 1), make(chan error, 1)
	go func() { ended <- endpoint.Serve(place, stops) }() // ends with the stop below
	t.Cleanup(func() {
		stops <- stdio.Stop{Reason: event.Shutdown, By: "test"}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	address := knocked(t, place.URL("", mcp.Path).String(), token)
	r := bin(t, "conformance", "server", "--url", address, "--suite", "all").run(t)
	for _, scenario := range scenarios(t) {
		// The suite tests features of 2025-11-25 with the version 2025-03-26, and reports only
		// warnings.
		least := "[1-9]"
		if scenario == "server-sse-polling" {
			least = "0"
		}
		if !regexp.MustCompile(`(?m)^✓ ` + scenario + `: ` + least + `\d* passed, 0 failed$`).MatchString(r.stdout) {
			t.Errorf("%s has not passed", scenario)
		}
	}
	if r.code != 0 || t.Failed() {
		t.Errorf("exit code %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
}

// The scenarios that need no tools of the suite pass with the binary.
func TestMCPConformanceOfTheBinary(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script())
	address, token := mcpOverHTTP(t, srv)
	address = knocked(t, address, token)
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection", "server-sse-multiple-streams"} {
		conform(t, address, scenario)
	}
}

// mcpOverHTTP starts the binary, and returns where it listens and the token.
func mcpOverHTTP(t *testing.T, srv *modeltest.Server, args ...string) (address, token string) {
	t.Helper()
	c := client{
		argv: append(
			[]string{settle(t), "mcp", "--http", "127.0.0.1:0", "-m", "chat/any", "--base-url", srv.OpenAI()},
			args...),
		dir: t.TempDir(),
		env: home(t),
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), clientTimeout)
	t.Cleanup(cancel)
	cmd := c.command(ctx, t)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		begin := time.Now()
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("settle mcp: %v", err)
		}
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("it took %v to end", took)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if bearer, ok := strings.CutPrefix(lines.Text(), "Authorization: Bearer "); ok {
			return address, bearer
		}
		address = lines.Text()
	}
	t.Fatal("settle mcp said nothing")
	return "", ""
}
