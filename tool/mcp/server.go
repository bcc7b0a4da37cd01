package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/terminal"
)

// Server is a server as it is configured: a command, or a URL.
type Server struct {
	// Name is what its tools' names begin with.
	Name string
	// Argv is the command that serves on its standard streams, Env what is added
	// to its environment ("NAME=value"), and Dir where it runs; "" is the
	// session's directory.
	Argv []string
	Env  []string
	Dir  string
	// Named says that a client named the command: it starts only when a call was allowed
	// that says so, or where Config.MayStart allows it.
	Named bool
	// URL is where a server is reached by streamable HTTP, and Headers what each
	// request to it has.
	URL     string
	Headers map[string]string
	// StartTimeout bounds a start, until the server's tools are known, and
	// CallTimeout a call; 0 is 30 s and 10 min.
	StartTimeout time.Duration
	CallTimeout  time.Duration
	// Tools are the server's own names of the tools that are offered; nil is all.
	// Without are those of tools that are not.
	Tools, Without []string
	// Relay, if set, is how the server is reached instead, and Asked what it has said
	// of its tools.
	Relay *Relay
	Asked *Catalogue
}

const (
	defaultStartTimeout = 30 * time.Second
	defaultCallTimeout  = 10 * time.Minute
)

func (s Server) startTimeout() time.Duration { return cmp.Or(s.StartTimeout, defaultStartTimeout) }
func (s Server) callTimeout() time.Duration  { return cmp.Or(s.CallTimeout, defaultCallTimeout) }

// backstop bounds a call that has bounds of its own.
func (s Server) backstop() time.Duration { return 2*s.startTimeout() + s.callTimeout() + 2*patience }

// offers reports whether the tool with the server's own name is offered.
func (s Server) offers(tool string) bool {
	return (s.Tools == nil || slices.Contains(s.Tools, tool)) && !slices.Contains(s.Without, tool)
}

// Where is the command or the URL, for people. Secrets in it are not masked.
func (s Server) Where() string {
	switch {
	case s.Relay != nil:
		return "in the client"
	case s.URL != "":
		return terminal.OneLine(s.URL)
	}
	return terminal.OneLine(strings.Join(s.Argv, " "))
}

// hash names the server's catalogue: what another configuration of the same name
// offers may be something else.
func (s Server) hash() string {
	raw, _ := json.Marshal([]any{1, s.Argv, s.Env, s.Dir, s.URL, s.Headers}) // strings: it cannot fail
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
