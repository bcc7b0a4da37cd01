package assemble

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/sandbox"
)

// With a proxy, a command reaches allowed hosts. The call's record has each refusal and how
// to allow it, also if the command ignored the refusal.
func TestProxy(t *testing.T) {
	if !confines(t) {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
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
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	connect := program + " " + sandbox.ConnectName
	a := inSandbox(
		t,
		settle.Ask,
		fmt.Sprintf("[sandbox]\nnetwork = \"proxy\"\nallow_hosts = [%q]\n", l.Addr()),
		nil,
		commands(
			connect+" 127.0.0.1 "+port+" </dev/null", connect+" not-allowed.test 443 </dev/null || true",
			connect+" 127.0.0.1 1 </dev/null", "exec 3<>/dev/tcp/127.0.0.1/"+port, "echo fine",
		),
	)
	calls := outputs(t, a)
	for i, want := range []string{
		"welcome", "[the sandbox denied connecting to not-allowed.test:443 (not an allowed host); the user can allow it: allow_hosts = [\"not-allowed.test\"] under [sandbox] in settle's configuration; with \"outside\"",
		"allow_hosts = [\"127.0.0.1:1\"]", "[the sandbox denied a connection that does not go through the proxy in HTTPS_PROXY", "fine",
	} {
		if strings.Contains(want, "does not go") && !installed("bash") {
			continue
		}
		if got := calls[i].Content().Output; !strings.Contains(got, want) ||
			want == "fine" && strings.Contains(got, "sandbox") {
			t.Errorf("%q, want %q", got, want)
		}
	}
	c := a.Session.Confinement
	apart := slices.Contains(c.By, "namespaces")
	if c.Network != "proxy" || apart != (len(c.Gaps) == 0) {
		t.Errorf("it says %+v", c)
	}
}

// A client of a protocol gets at most the network that the user configured.
func TestClientsDoNotLoosenTheNetwork(t *testing.T) {
	for configured, wishes := range map[string]map[string]string{
		"proxy": {"": "proxy", "on": "proxy", "off": "off"},
		"off":   {"": "off", "on": "on", "off": "off"}, // no configuration
		"on":    {"": "on", "on": "on", "off": "off"},
	} {
		for wish, want := range wishes {
			b := &sandboxes{sandboxing: sandboxing{Sandbox: config.Sandbox{Network: configured}}}
			if got := b.network(wish); got != want {
				t.Errorf("%s, and the client wishes %q: %s, want %s", configured, wish, got, want)
			}
		}
	}
}
