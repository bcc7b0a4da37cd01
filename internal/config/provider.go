package config

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Wire is a wire format.
type Wire string

// The wire formats.
const (
	WireOpenAI    Wire = "openai"    // Responses
	WireAnthropic Wire = "anthropic" // Messages
	WireChat      Wire = "chat"      // Chat Completions
	WireGemini    Wire = "gemini"    // streamGenerateContent
)

// Provider is a server of models: a built-in one, or the user's own.
type Provider struct {
	Name string
	Wire Wire
	// Preset names the cloud service whose defaults the provider has; empty for none. Its address
	// is made of the other three. Service is the service's name in signatures.
	Preset                    string
	Resource, Region, Project string
	Service                   string
	// Auth is the way to send the key.
	Auth Auth
	// BaseURL has no trailing slash; empty if the user must give it.
	BaseURL string
	// Model is the default model; can be empty.
	Model string
	// KeyEnv is the variable with the key, KeyCommand the command that prints the key, and
	// KeyFile the file with the key; a set variable wins. With none, no key is sent.
	KeyEnv     string
	KeyCommand []string
	KeyFile    string // absolute
	// Headers and Query are added to each request, with ${NAME} replaced.
	Headers map[string]string
	Query   map[string]string
	// CAFile has additional root certificates in PEM; absolute.
	CAFile string
	// ExtraBody is merged into each request's body.
	ExtraBody map[string]any
	// Dialect is one of Dialects, for a chat server's rules of a conversation; empty for
	// the rules of its host and its answers.
	Dialect string
	// ToolSearch decides whether the provider's own search of tools is used; nil for only
	// the server of the models' maker.
	ToolSearch *bool
	// MaxConcurrent bounds concurrent requests; 0 for no limit.
	MaxConcurrent int
	// Origin is the origin of the provider, BaseURLOrigin the origin of its BaseURL.
	Origin        Origin
	BaseURLOrigin Origin

	keyNamed bool     // the user named KeyEnv, so it must be set
	fileKey  string   // content of KeyFile
	fileErr  error    // why KeyFile cannot be used
	bearer   bool     // a token in the environment replaces the key
	secrets  []string // secrets in Headers and Query
	vars     []string // variables that Headers and Query refer to
}

// builtin returns the built-in providers. All settings share the map, so nobody must change it.
var builtin = sync.OnceValue(func() map[string]Provider {
	list := []Provider{
		{
			Name: "openai", Wire: WireOpenAI, BaseURL: "https://api.openai.com/v1",
			KeyEnv: "OPENAI_API_KEY", Model: "gpt-6.1-sol",
		},
		{
			Name: "anthropic", Wire: WireAnthropic, BaseURL: "https://api.anthropic.com",
			KeyEnv: "ANTHROPIC_API_KEY", Model: "claude-opus-5-5",
		},
		{
			Name: "gemini", Wire: WireGemini, BaseURL: "https://generativelanguage.googleapis.com/v1beta",
			KeyEnv: "GEMINI_API_KEY", Model: "gemini-3.8-flash",
		},
		{Name: "chat", Wire: WireChat, KeyEnv: "SETTLE_API_KEY"},
	}
	all := map[string]Provider{}
	for _, p := range list {
		p.Origin, p.BaseURLOrigin = Origin{Kind: Default}, Origin{Kind: Default}
		all[p.Name] = p
	}
	return all
})

// setProvider sets a provider of the settings, in a map of their own.
func (l *loader) setProvider(name string, p Provider) {
	l.Providers = maps.Clone(l.Providers)
	l.Providers[name] = p
}

// Makes reports whether the provider's server belongs to the models' maker: a built-in
// provider with its default address.
func (p Provider) Makes() bool {
	maker, known := builtin()[p.Name]
	return known && p.BaseURL != "" && p.BaseURL == maker.BaseURL
}

// provider reads [providers.NAME] over the built-in provider of that name.
func (l *loader) provider(t *table, name string) {
	p, known := l.Providers[name]
	if !known {
		p = Provider{Name: name}
	}
	p.Origin = Origin{Kind: File, Where: t.doc.where(t.path...)}
	if !validName(name) {
		*t.errs = append(*t.errs, &Error{
			Where: p.Origin.Where, Key: "providers." + name,
			Message: "a provider name consists of lower-case letters, digits, dots, - and _",
		})
	}
	l.preset(t, &p)
	get(t, "wire", &p.Wire, asWire)
	get(t, "model", &p.Model, asText)
	if get(t, "base_url", &p.BaseURL, asURL) {
		p.BaseURLOrigin = Origin{Kind: File, Where: t.where("base_url")}
	}
	own := p.KeyEnv // of the built-in provider
	if get(t, "key_command", &p.KeyCommand, l.asCommand) {
		p.KeyEnv = ""
	}
	if get(t, "key_file", &p.KeyFile, asText) {
		p.KeyEnv = ""
		p.KeyFile = expand(p.KeyFile, dirOf(t.doc.path), l.in.Getenv)
		p.fileKey, p.fileErr = readKey(p.KeyFile)
		if len(p.KeyCommand) > 0 {
			t.fail("key_file", fmt.Errorf("key_command is set also; remove one of them"))
		}
	}
	if p.keyNamed = get(t, "key_env", &p.KeyEnv, asText); p.KeyEnv != own { // the variable stays a secret
		p.secrets, p.vars = append(p.secrets, l.in.Getenv(own)), append(p.vars, own)
	}
	p.Headers = l.pairs(t, "headers", &p)
	p.Query = l.pairs(t, "query", &p)
	if get(t, "ca_file", &p.CAFile, asText) {
		p.CAFile = expand(p.CAFile, dirOf(t.doc.path), l.in.Getenv)
	}
	get(t, "extra_body", &p.ExtraBody, func(value any) (map[string]any, error) {
		body, ok := value.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("must be a table, not %s", described(value))
		}
		return body, nil
	})
	get(t, "dialect", &p.Dialect, asDialect)
	get(t, "tool_search", &p.ToolSearch, asSwitch)
	if limits := t.table("limits"); limits != nil {
		get(limits, "max_concurrent", &p.MaxConcurrent, asCount)
		limits.done()
	}
	l.address(t, &p)
	t.done()
	if p.Wire == "" && !t.isSet("preset") {
		t.missing("wire", fmt.Errorf("is missing: openai, anthropic, gemini or chat"))
	}
	l.setProvider(name, p)
}

// pairs reads a table of strings and replaces ${NAME} by variables.
func (l *loader) pairs(t *table, key string, p *Provider) map[string]string {
	inner := t.table(key)
	if inner == nil {
		return nil
	}
	all := map[string]string{}
	for _, name := range inner.keys() {
		var value string
		if !get(inner, name, &value, asText) {
			continue
		}
		expanded, vars := expandVars(value, l.in.Getenv)
		for _, variable := range vars {
			if l.in.Getenv(variable) == "" {
				inner.fail(name, fmt.Errorf("refers to %s, which is not set", variable))
			}
			p.secrets = append(p.secrets, l.in.Getenv(variable))
		}
		if strings.ContainsFunc(name+expanded, unicode.IsControl) {
			inner.fail(name, fmt.Errorf("must be one line without control characters"))
		}
		if key == "headers" && !headerName(name) {
			inner.fail(name, fmt.Errorf("is not a valid header name"))
		}
		if Credential(name) {
			p.secrets = append(p.secrets, expanded)
		}
		p.vars = append(p.vars, vars...)
		all[name] = expanded
	}
	return all
}

// headerName reports whether name is a token of HTTP (RFC 9110, section 5.6.2).
func headerName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	}) < 0
}

// expandVars replaces ${NAME}, and no other text with a dollar sign.
func expandVars(value string, getenv func(string) string) (expanded string, vars []string) {
	reference := regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	expanded = reference.ReplaceAllStringFunc(value, func(match string) string {
		name := match[2 : len(match)-1]
		vars = append(vars, name)
		return getenv(name)
	})
	return expanded, vars
}

// Credential reports whether a header or a query parameter of this name contains a secret.
func Credential(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"auth", "key", "token", "secret", "password", "cookie", "signature"},
		func(part string) bool {
			return strings.Contains(name, part)
		})
}

// host returns the name of the provider's server in lower case; empty if there is none.
func (p Provider) host() string {
	u, err := url.Parse(p.BaseURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}

// Loopback reports whether the provider's server is on this machine.
func (p Provider) Loopback() bool {
	host := p.host()
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Private reports whether the provider's server is on this machine or on a private network.
// Such servers start slowly and often need no key.
func (p Provider) Private() bool {
	host := p.host()
	if address, err := netip.ParseAddr(host); err == nil {
		return address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast() || address.IsUnspecified()
	}
	local := []string{".localhost", ".local", ".internal", ".lan", ".home.arpa"}
	return host != "" && !strings.Contains(host, ".") || slices.ContainsFunc(local, func(suffix string) bool {
		return strings.HasSuffix(host, suffix)
	})
}

func asWire(value any) (Wire, error) {
	wires := []string{string(WireOpenAI), string(WireAnthropic), string(WireGemini), string(WireChat)}
	return asOneOf[Wire](value, wires)
}

// Dialects returns the valid dialects.
func Dialects() []string {
	return []string{"openai", "mistral", "deepseek", "moonshot", "gemini", "groq", "xai", "openrouter"}
}

func asDialect(value any) (string, error) {
	return asOneOf[string](value, Dialects())
}

func asURL(value any) (string, error) {
	word, err := asText(value)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(strings.TrimSpace(word))
	// The value can contain a password, so no message repeats it.
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("must be a URL such as https://host/v1")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("must have no query and no fragment; use query = { … } in the provider's table")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// asCommand accepts a list of arguments, or a line for the shell.
func (l *loader) asCommand(value any) ([]string, error) {
	if line, ok := value.(string); ok && strings.TrimSpace(line) != "" {
		if l.in.GOOS == "windows" {
			return []string{"cmd", "/c", line}, nil
		}
		return []string{"sh", "-c", line}, nil
	}
	list, isList := value.([]any)
	if !isList || len(list) == 0 {
		return nil, fmt.Errorf("must be a command, as a string or a list of strings")
	}
	return asNames(list)
}

func validName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// secretsOf returns the secrets of a provider, except a key in a variable or of a command.
func (p Provider) secretsOf() []string {
	secrets := append(slices.Clone(p.secrets), p.fileKey)
	if u, err := url.Parse(p.BaseURL); err == nil {
		if password, ok := u.User.Password(); ok {
			secrets = append(secrets, password)
		}
	}
	return secrets
}

func sortedProviders(all map[string]Provider) []Provider {
	var list []Provider
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list
}

func dirOf(path string) string {
	return path[:strings.LastIndexByte(path, os.PathSeparator)+1]
}
