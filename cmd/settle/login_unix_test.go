//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/internal/oauth/oauthtest"
)

// startLogin starts a login to the server, and returns its link, and a function that returns its
// later output.
func (p *place) startLogin(
	url string,
	stdin io.Reader,
	args ...string,
) (cmd *exec.Cmd, link string, rest *bufio.Reader) {
	p.t.Helper()
	cmd = p.command(append([]string{"mcp-servers", "login", url}, args...)...)
	cmd.Stdin = stdin
	said, err := cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	rest = bufio.NewReader(said)
	for !strings.HasPrefix(link, "http") {
		line, err := rest.ReadString('\n')
		if err != nil {
			p.t.Fatalf("there is no link: %v", err)
		}
		link = strings.TrimSpace(line)
	}
	return cmd, link, rest
}

func TestMCPLogin(t *testing.T) {
	s := sdk.NewServer(&sdk.Implementation{Name: "guarded", Version: "1"}, nil)
	sdk.AddTool(
		s,
		&sdk.Tool{Name: "echo"},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		},
	)
	at := oauthtest.New(t, oauthtest.Options{})
	at.Handle(
		sdk.NewStreamableHTTPHandler(
			func(*http.Request) *sdk.Server { return s },
			&sdk.StreamableHTTPOptions{Stateless: true},
		),
	)
	p := newPlace(t)
	settings := filepath.Join(filepath.Dir(p.work), "home", ".config", "settle", "config.toml")
	if err := os.MkdirAll(filepath.Dir(settings), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte("[mcp.guarded]\nurl = \""+at.Resource()+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	test := p.command("mcp-servers", "--test")
	out := strings.Builder{}
	test.Stdout = &out
	started(t, test)
	exited(t, test, 1)
	if got := out.String(); !strings.Contains(got, "needs-login") ||
		!strings.Contains(got, "settle mcp-servers login guarded") {
		t.Errorf("before the login: %s", got)
	}
	if got := p.says("mcp-servers"); !strings.Contains(got, "needs-login") {
		t.Errorf("before the login, without a test: %s", got)
	}

	for name, finish := range map[string]func(back string, input io.Writer){
		"the browser comes back": func(back string, _ io.Writer) { at.Follow(back) },
		"the address is pasted":  func(back string, input io.Writer) { _, _ = io.WriteString(input, back+"\n") },
	} {
		t.Run(name, func(t *testing.T) {
			in, input := io.Pipe()
			defer func() { _ = input.Close() }()
			cmd, link, rest := p.startLogin("guarded", in)
			finish(at.Visit(link), input)
			said, _ := io.ReadAll(rest)
			_ = input.Close()
			exited(t, cmd, 0)
			if strings.Contains(string(said), "access-") {
				t.Errorf("it shows a token: %s", said)
			}
			if got := p.says("mcp-servers", "--json"); !strings.Contains(got, `"login":"logged in"`) ||
				!strings.Contains(got, `"tools":["echo"]`) {
				t.Errorf("after the login: %s", got)
			}
			at.Expire(false) // it is renewed
			if got := p.says("mcp-servers", "--test"); !strings.Contains(got, "ok") {
				t.Errorf("after the token expired: %s", got)
			}
			if got := p.says("mcp-servers", "logout", "guarded"); !strings.Contains(got, "Logged out") {
				t.Errorf("logout says %q", got)
			}
		})
	}
	if n := at.Count("revoke"); n != 2 {
		t.Errorf("%d tokens were revoked", n)
	}
}

func TestMCPLoginFails(t *testing.T) {
	p := newPlace(t)
	denied := oauthtest.New(t, oauthtest.Options{Deny: true})
	cmd, link, rest := p.startLogin(denied.Resource(), nil)
	denied.Follow(denied.Visit(link))
	said, _ := io.ReadAll(rest)
	exited(t, cmd, 1)
	if !strings.Contains(string(said), "the user said no") {
		t.Errorf("it says %s", said)
	}

	// A signal ends it at once, and nothing is kept.
	cmd, _, rest = p.startLogin(denied.Resource(), nil)
	signalled(t, cmd, syscall.SIGINT)
	_, _ = io.ReadAll(rest)
	exited(t, cmd, 130)
	if files, _ := filepath.Glob(filepath.Join(p.data, "mcp-logins", "*")); len(files) > 0 {
		t.Errorf("it leaves %q", files)
	}

	// A browser that cannot be started costs nothing: the link works.
	p.env = append(p.env, "DISPLAY=:0", "PATH="+t.TempDir())
	cmd, link, rest = p.startLogin(denied.Resource(), nil)
	denied.Follow(denied.Visit(link))
	said, _ = io.ReadAll(rest)
	exited(t, cmd, 1)
	if !strings.Contains(string(said), "the user said no") {
		t.Errorf("without a browser, it says %s", said)
	}
}
