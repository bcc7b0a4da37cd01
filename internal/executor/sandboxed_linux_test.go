package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
)

// greeter returns a server that greets every client.
func greeter(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintln(c, "welcome")
			_ = c.Close()
		}
	}()
	return l
}

// proxied is an executor whose commands reach good.test through its egress proxy. Names of
// private.test lead to this machine.
func proxied(t *testing.T, apart bool) (executor *Local, dir string) {
	t.Helper()
	server := greeter(t)
	hosts, err := egress.ParseList([]string{"good.test", "private.test"})
	if err != nil {
		t.Fatal(err)
	}
	l := local(t)
	dir = t.TempDir()
	l.Hosts = hosts
	l.Dialer = egress.Dialer{
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			if host == "private.test" {
				return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
			}
			return []netip.Addr{netip.AddrFrom4([4]byte{1, 1, 1, 1})}, nil
		},
		Connect: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", server.Addr().String())
		},
	}
	l.Sandbox = func(Confined) (sandbox.Policy, []string, error) {
		p := sandbox.Workspace("", os.Getenv("PATH"), []string{dir}, []string{dir})
		p.Network, p.View, p.OwnNetwork = sandbox.Proxied, apart, apart
		return p, nil, nil
	}
	return l, dir
}

// apart returns the values of OwnNetwork for which a proxied command is available here.
func apart(t *testing.T) []bool {
	t.Helper()
	var list []bool
	proxy := egress.NewProxy(nil, egress.Dialer{})
	defer proxy.Close()
	for _, own := range []bool{false, true} {
		_, err := proc.Prove(
			t.Context(),
			sandbox.Policy{Write: []string{"/"}, Network: sandbox.Proxied, View: own, OwnNetwork: own},
			proxy,
		)
		if err != nil {
			t.Log(err)
			continue
		}
		list = append(list, own)
	}
	return list
}

func TestProxiedCommand(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range apart(t) {
		l, dir := proxied(t, own)
		run := func(call, script string) (string, Denial) {
			var out bytes.Buffer
			p, err := l.Start(
				t.Context(),
				Command{Script: script, Call: call, Dir: dir, Sandbox: event.Workspace, Output: &out},
			)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = p.Wait(t.Context())
			<-p.Done()
			args, _ := json.Marshal(Output{Sandbox: event.Workspace, Text: out.String()})
			answer, err := l.Call(t.Context(), Request{Name: Denials, Call: call, Dir: dir, Args: args})
			var d Denial
			if err != nil || json.Unmarshal(answer, &d) != nil {
				t.Fatal(err)
			}
			return out.String(), d
		}
		connect := program + " " + sandbox.ConnectName
		if out, d := run("1", connect+" good.test 443 </dev/null"); out != "welcome\n" || d.Named != nil {
			t.Errorf("apart %t: %q, %+v", own, out, d)
		}
		out, d := run(
			"2",
			connect+" other.test 443 </dev/null; "+connect+" good.test 444 </dev/null; "+connect+" private.test 80 </dev/null; true",
		)
		for _, want := range []string{"other.test:443 (not an allowed host)", "good.test:444 (not an allowed host)", "private.test:80 (127.0.0.1 is not a public address)"} {
			if !strings.Contains(out, "the sandbox denied connecting to "+want) ||
				!strings.Contains(strings.Join(d.Named, "\n"), want) {
				t.Errorf("apart %t: no %s in %q, %+v", own, want, out, d)
			}
		}
		if strings.Join(d.Hosts, " ") != "other.test good.test:444 127.0.0.1" {
			t.Errorf("apart %t: hosts %q", own, d.Hosts)
		}
		if out, _ := run("3", `test -n "$HTTPS_PROXY" -a "$https_proxy" = "$HTTPS_PROXY" -a "${NO_PROXY-unset}" = "" && echo set`); out != "set\n" {
			t.Errorf("apart %t: %q", own, out)
		}
	}
}

// The proxy ends with its command.
func TestGateEndsWithItsCommand(t *testing.T) {
	for _, own := range apart(t) {
		l, dir := proxied(t, own)
		out := make(lines, 1)
		p, err := l.Start(
			t.Context(),
			Command{Script: "echo $ALL_PROXY; sleep 1000", Dir: dir, Sandbox: event.Workspace, Output: out},
		)
		if err != nil {
			t.Fatal(err)
		}
		_, at, _ := strings.Cut(strings.TrimSpace(<-out), "@")
		if own { // it is in the command's network, where nobody else gets
			p.End(t.Context(), 0)
			continue
		}
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		p.End(t.Context(), 0)
		if _, err := conn.Read(make([]byte, 1)); err == nil { // which is cut
			t.Error("the gate goes on")
		}
		_ = conn.Close()
	}
}

// lines receives written text; only the first text is kept.
type lines chan string

func (l lines) Write(data []byte) (int, error) {
	select {
	case l <- string(data):
	default:
	}
	return len(data), nil
}

func TestOverride(t *testing.T) {
	got := overrideEnv([]string{"A=1", "HTTP_PROXY=theirs", "B=2"}, []string{"HTTP_PROXY=ours", "C=3"})
	if strings.Join(got, " ") != "A=1 B=2 HTTP_PROXY=ours C=3" {
		t.Error(got)
	}
}
