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

// Server is the configuration of a server: a command, or a URL.
type Server struct {
	// Name is the prefix of its tools' names.
	Name string
	// Argv is the command that serves on its standard streams, Env its additional
	// environment ("NAME=value"), and Dir its working directory; "" for the session's
	// directory. OwnDir means that each start makes Dir if it is missing.
	Argv   []string
	Env    []string
	Dir    string
	OwnDir bool
	// Named reports that a client named the command: it starts only after the approval of a
	// call that includes it, or if Config.MayStart allows it.
	Named bool
	// Project means that a project brings the command: it runs in the sandbox in force.
	Project bool
	// Check, if set, is called before each start of Argv and before each connection to URL. Its
	// error prevents both. A running server is not checked.
	Check func() error
	// URL is its address over streamable HTTP, and Headers are sent with each request.
	URL     string
	Headers map[string]string
	// StartTimeout bounds a start, until the server's tools are known, and CallTimeout a
	// call; 0 for 30 s and 10 min.
	StartTimeout time.Duration
	CallTimeout  time.Duration
	// Tools are the server's own names of the offered tools; nil for all. Without are the
	// names of omitted tools.
	Tools, Without []string
	// Relay, if set, connects to the server instead, and Catalogue is its description of its
	// tools.
	Relay     *Relay
	Catalogue *Catalogue
}

const (
	defaultStartTimeout = 30 * time.Second
	defaultCallTimeout  = 10 * time.Minute
)

func (s Server) startTimeout() time.Duration { return cmp.Or(s.StartTimeout, defaultStartTimeout) }
func (s Server) callTimeout() time.Duration  { return cmp.Or(s.CallTimeout, defaultCallTimeout) }

// backstop bounds a call in addition to its own limits.
func (s Server) backstop() time.Duration {
	return 2*s.startTimeout() + s.callTimeout() + 2*delayedStartTimeout
}

// offers reports whether the tool with the server's own name is offered.
func (s Server) offers(tool string) bool {
	return (s.Tools == nil || slices.Contains(s.Tools, tool)) && !slices.Contains(s.Without, tool)
}

// Where returns the command or the URL for people, with unmasked secrets.
func (s Server) Where() string {
	switch {
	case s.Relay != nil:
		return "in the client"
	case s.URL != "":
		return terminal.OneLine(s.URL)
	}
	return terminal.OneLine(strings.Join(s.Argv, " "))
}

// hash identifies the server's catalogue, because another configuration of the same name
// can have other tools.
func (s Server) hash() string {
	raw, _ := json.Marshal([]any{1, s.Argv, s.Env, s.Dir, s.URL, s.Headers}) // strings: Marshal cannot fail
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}
