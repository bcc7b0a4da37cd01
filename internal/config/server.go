package config

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/internal/oauth"
	"github.com/settle-agent/settle/internal/redact"
)

// Server is an MCP server: a command, or a URL.
type Server struct {
	// Name is the prefix of its tools' names.
	Name string
	// Command is the program with its arguments, Env its additional environment, and Dir
	// its absolute working directory; empty for a directory of the server's own, or the
	// session's if it is a project's server. InSession means that the user chose the session's.
	Command   []string
	Env       map[string]string
	Dir       string
	InSession bool
	// URL is its address over HTTP, and Headers are sent with each request.
	URL     string
	Headers map[string]string
	// StartTimeout and Timeout bound a start and a call; 0 for the default.
	StartTimeout, Timeout time.Duration
	// Enabled reports whether sessions use the server.
	Enabled bool
	// Tools are the names of the offered tools; nil for all. Without are the names of
	// omitted tools.
	Tools, Without []string
	OAuth          *OAuth // nil for the server's own demands
	Origin         Origin
	// Plugin is the plugin that brings the server; nil for none.
	Plugin *plugin.Plugin

	secrets []string // secrets in Env, Headers and URL
	missing []string // referenced variables that are not set
}

// OAuth configures the login to a server that requires it. A server that registers clients
// needs none of it.
type OAuth struct {
	ClientID, ClientSecret string
	// Scopes replace the scopes that the server requests.
	Scopes []string
	// RedirectPort is the port of the redirect on 127.0.0.1; 0 for any.
	RedirectPort int
}

// maxServerName bounds the name of a server, which its tools' names begin with.
const maxServerName = 48

// servers reads [mcp.NAME].
func (l *loader) servers(top *table) {
	group := top.table("mcp")
	if group == nil {
		return
	}
	for _, name := range group.keys() {
		if t := group.table(name); t != nil {
			l.server(t, name)
		}
	}
}

// server reads one server.
func (l *loader) server(t *table, name string) {
	s := Server{Name: name, Enabled: true, Origin: Origin{Kind: File, Where: t.doc.where(t.path...)}}
	if err := checkServerName(name); err != nil {
		*t.errs = append(*t.errs, &Error{Where: s.Origin.Where, Key: "mcp." + name, Message: err.Error()})
	}
	get(t, "command", &s.Command, asProgram)
	var args []string
	get(t, "args", &args, asWords)
	s.Command = append(s.Command, args...)
	s.Env, s.Headers = stringsOf(t, "env"), stringsOf(t, "headers")
	var cwd string
	get(t, "cwd", &cwd, asText)
	s.startIn(cwd, filepath.Dir(t.doc.path), l.in.Getenv)
	get(t, "url", &s.URL, asText)
	get(t, "start_timeout", &s.StartTimeout, asDuration)
	get(t, "timeout", &s.Timeout, asDuration)
	get(t, "tools", &s.Tools, asNames)
	s.OAuth = oauthOf(t)
	enabled := &s.Enabled
	get(t, "enabled", &enabled, asSwitch)
	s.Enabled = *enabled
	t.done()
	if err := s.complete(l.in.Getenv); err != nil {
		*t.errs = append(*t.errs, &Error{Where: s.Origin.Where, Key: "mcp." + name, Message: err.Error()})
	}
	l.add(s)
}

// sessionDir is the value of cwd for the session's directory.
const sessionDir = "${SESSION_DIR}"

// startIn sets the working directory; a relative one is below from.
func (s *Server) startIn(cwd, from string, getenv func(string) string) {
	if s.InSession = cwd == sessionDir; !s.InSession {
		s.Dir = expand(cwd, from, getenv)
	}
}

// shown is the configuration without the secret.
func (o *OAuth) shown() string {
	if o == nil {
		return ""
	}
	text := "client_id=" + o.ClientID + " scopes=" + strings.Join(o.Scopes, ",")
	if o.ClientSecret != "" {
		text += " client_secret=" + redact.Mask
	}
	if o.RedirectPort > 0 {
		text += " redirect_port=" + strconv.Itoa(o.RedirectPort)
	}
	return text
}

// oauthOf reads the configuration of the login.
func oauthOf(t *table) *OAuth {
	inner := t.table("oauth")
	if inner == nil {
		return nil
	}
	o := &OAuth{}
	get(inner, "client_id", &o.ClientID, asText)
	get(inner, "client_secret", &o.ClientSecret, asText)
	get(inner, "scopes", &o.Scopes, asWords)
	get(inner, "redirect_port", &o.RedirectPort, asCount)
	inner.done()
	return o
}

// add adds a server. An unusable server affects no other setting.
func (l *loader) add(s Server) {
	if len(s.missing) > 0 && s.Enabled {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: the MCP server %q is not used: it refers to %s, which is not set",
			s.Origin, s.Name, s.missing[0]))
		s.Enabled = false
	}
	if l.Servers == nil {
		l.Servers = map[string]Server{}
	}
	l.Servers[s.Name] = s
}

func checkServerName(name string) error {
	if name == "" || len(name) > maxServerName || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("the name of a server has 1 to %d characters, none of them a control character",
			maxServerName)
	}
	return nil
}

// complete expands the variables in a server's configuration, and returns an error for an
// unusable server.
func (s *Server) complete(getenv func(string) string) error {
	for i, word := range s.Command {
		s.Command[i] = s.expand(word, getenv)
	}
	s.URL = s.expand(s.URL, getenv)
	if o := s.OAuth; o != nil && s.Origin.Kind != Plugin { // a plugin would learn the user's variables
		o.ClientID, o.ClientSecret = s.expand(o.ClientID, getenv), s.expand(o.ClientSecret, getenv)
	}
	for _, pairs := range []map[string]string{s.Env, s.Headers} {
		for name, value := range pairs {
			pairs[name] = s.expand(value, getenv)
		}
	}
	return s.check()
}

// check returns an error for an unusable server, and records its secrets.
func (s *Server) check() error {
	for _, pairs := range []map[string]string{s.Env, s.Headers} {
		for name, value := range pairs {
			if Credential(name) {
				s.secrets = append(s.secrets, value, strings.TrimPrefix(value, "Bearer "))
			}
		}
	}
	if o := s.OAuth; o != nil {
		s.secrets = append(s.secrets, o.ClientSecret)
		if o.RedirectPort < 0 || o.RedirectPort > 65535 {
			return fmt.Errorf("has an oauth redirect port that is none: %d", o.RedirectPort)
		}
	}
	switch {
	case len(s.Command) > 0 == (s.URL != ""):
		return fmt.Errorf("needs either a command or a url")
	case len(s.Command) > 0 && s.Command[0] == "":
		return fmt.Errorf("needs a command that is not empty")
	case s.URL != "":
		return s.checkHTTP()
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(s.Env[name], "\x00") {
			return fmt.Errorf("has a variable in env that no environment can have: %q", name)
		}
	}
	return nil
}

func (s *Server) checkHTTP() error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("needs a url such as https://host/mcp") // the URL can contain a password
	}
	if password, ok := u.User.Password(); ok {
		s.secrets = append(s.secrets, password)
	}
	for name, value := range s.Headers {
		if !headerName(name) || strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Errorf("has a header that is not valid: %q", name)
		}
	}
	return nil
}

// expand replaces ${NAME} and ${NAME:-DEFAULT} in a value of the server. The values of
// variables with names of credentials are secrets.
func (s *Server) expand(value string, getenv func(string) string) string {
	reference := regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)
	return reference.ReplaceAllStringFunc(value, func(match string) string {
		parts := reference.FindStringSubmatch(match)
		found := getenv(parts[1])
		switch {
		case found == "" && parts[2] == "":
			s.missing = append(s.missing, parts[1])
		case found == "":
			return parts[3]
		case Credential(parts[1]):
			s.secrets = append(s.secrets, found)
		}
		return found
	})
}

// Secrets are the values that the server receives and that must not be shown.
func (s *Server) Secrets() []string { return s.secrets }

// Missing are the referenced variables that are not set.
func (s *Server) Missing() []string { return s.missing }

// asProgram accepts a program, or a list with its arguments.
func asProgram(value any) ([]string, error) {
	if word, ok := value.(string); ok {
		return []string{word}, nil
	}
	return asWords(value)
}

// asWords accepts a list of strings.
func asWords(value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("must be a list of strings, not %s", described(value))
	}
	words := make([]string, 0, len(list))
	for _, one := range list {
		word, ok := one.(string)
		if !ok {
			return nil, fmt.Errorf("must be a list of strings; one is %s", described(one))
		}
		words = append(words, word)
	}
	return words, nil
}

// stringsOf reads a table of strings.
func stringsOf(t *table, key string) map[string]string {
	inner := t.table(key)
	if inner == nil {
		return nil
	}
	all := map[string]string{}
	for _, name := range inner.keys() {
		var value string
		get(inner, name, &value, func(value any) (string, error) {
			text, ok := value.(string)
			if !ok {
				return "", fmt.Errorf("must be a string, not %s", described(value))
			}
			return text, nil
		})
		all[name] = value
	}
	return all
}

// serverSecrets are the values that servers receive and that must not be shown.
func (r *Resolved) serverSecrets() []string {
	var secrets []string
	logins := oauth.NewStore(r.DataDir)
	for name := range r.Servers {
		s := r.Servers[name]
		secrets = append(secrets, s.secrets...)
		if s.URL != "" {
			secrets = append(secrets, logins.Secrets(s.URL)...)
		}
	}
	return secrets
}

// SortedServers are all MCP servers by name, including disabled ones.
func (r *Resolved) SortedServers() []Server {
	var list []Server
	for _, name := range slices.Sorted(maps.Keys(r.Servers)) {
		list = append(list, r.Servers[name])
	}
	return list
}

func (r *Resolved) serverLines(s Server) []Line {
	all := &section{prefix: "mcp." + s.Name + "."}
	add := func(key, value string) { all.add(key, value, s.Origin) }
	add("command", strings.Join(s.Command, " "))
	add("env", pairsShown(s.Env))
	if s.InSession {
		add("cwd", sessionDir)
	}
	add("cwd", s.Dir)
	add("url", redact.Diagnostic(s.URL))
	add("headers", pairsShown(s.Headers))
	if s.StartTimeout > 0 {
		add("start_timeout", trimmed(s.StartTimeout))
	}
	if s.Timeout > 0 {
		add("timeout", trimmed(s.Timeout))
	}
	if s.Tools != nil {
		add("tools", shown(s.Tools))
	}
	add("oauth", s.OAuth.shown())
	if !s.Enabled {
		add("enabled", "false")
	}
	return all.lines
}
