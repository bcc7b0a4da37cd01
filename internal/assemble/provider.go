package assemble

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/gemini"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/transport"
)

// keyTimeout bounds a key_command.
const keyTimeout = 30 * time.Second

// runCommand runs a key_command in custody.
func runCommand(dir string, environ []string) config.Runner {
	return func(ctx context.Context, argv []string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, keyTimeout)
		defer cancel()
		out, err := proc.Run(ctx, proc.Command{Argv: argv, Dir: dir, Env: environ})
		if err != nil {
			return "", err
		}
		if !out.OK() {
			return "", fmt.Errorf("%q ended with code %d: %s", argv[0], out.Code, firstLine(out.Stderr))
		}
		return string(out.Stdout), nil
	}
}

// keyDir is where a key_command runs: beside the file that names it. The working
// directory may be somebody else's, and many a program takes orders from there.
func keyDir(r *config.Resolved) string {
	if r.UserFile == "" {
		return Nowhere()
	}
	return filepath.Dir(r.UserFile)
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}

// key gets the provider's key, and says how to get another one.
func (o Options) key(ctx context.Context, p config.Provider) (*key, error) {
	fetch := func(ctx context.Context) (string, error) {
		return o.Settings.Key(ctx, p, runCommand(keyDir(o.Settings), o.Environ))
	}
	value, err := fetch(ctx)
	if err != nil {
		return nil, err
	}
	if !o.Settings.FromCommand(p) {
		fetch = nil
	}
	return newKey(value, fetch), nil
}

// endpoint is how to reach the chosen provider.
func (o Options) endpoint(c config.Choice, k *key) transport.Endpoint {
	endpoint := transport.Endpoint{
		BaseURL: c.Provider.BaseURL, Key: k.get,
		Header: http.Header{}, Query: url.Values{}, Extra: c.Provider.ExtraBody,
		Client: transport.NewClient(o.transport(c.Provider)), AuthHint: authHint(c.Provider),
	}
	if k.fetch != nil {
		endpoint.Renew = k.renew
	}
	for name, value := range c.Provider.Headers {
		endpoint.Header.Set(name, value)
	}
	for name, value := range c.Provider.Query {
		endpoint.Query.Set(name, value)
	}
	return endpoint
}

// provider returns what speaks the wire format.
func provider(of config.Provider, endpoint transport.Endpoint, models catalog.Table) model.Provider {
	switch of.Wire {
	case config.WireAnthropic:
		return anthropic.New(anthropic.Options{Endpoint: endpoint, Models: models})
	case config.WireOpenAI:
		return openai.New(openai.Options{Endpoint: endpoint, Models: models})
	case config.WireGemini:
		return gemini.New(gemini.Options{Endpoint: endpoint, Models: models})
	}
	return chat.New(chat.Options{Endpoint: endpoint, Models: models, Dialect: of.Dialect})
}

func (o Options) transport(p config.Provider) transport.Config {
	c := transport.Config{Proxy: http.ProxyFromEnvironment}
	if p.CAFile != "" {
		c.CAFiles = append(c.CAFiles, p.CAFile)
	}
	// Elsewhere the standard library honours it by itself.
	if file := o.Getenv("SSL_CERT_FILE"); file != "" && (runtime.GOOS == "darwin" || runtime.GOOS == "windows") {
		c.CAFiles = append(c.CAFiles, file)
	}
	return c
}

// authHint says what to do about a refused key.
func authHint(p config.Provider) string {
	switch {
	case p.KeyEnv != "":
		return "set " + p.KeyEnv + " to a valid key"
	case len(p.KeyCommand) > 0:
		return "check what the provider's key_command prints"
	}
	return fmt.Sprintf("name a key with key_env under [providers.%s]", p.Name)
}

// price is what the user says that the model costs, or what settle knows where
// the provider is its maker: others have their own prices, and so have requests
// that ask for another service.
func price(r *config.Resolved, choice config.Choice) *model.Price {
	if known := r.Models[choice.Provider.Name+"/"+choice.Model].Price; known != nil {
		return &model.Price{Input: known.Input, CacheRead: known.CacheRead, CacheWrite: known.CacheWrite, Output: known.Output}
	}
	if len(choice.Provider.ExtraBody) > 0 || !choice.Provider.Makes() {
		return nil
	}
	return catalog.Price(choice.Model)
}

// models returns the table of models as the chosen provider names them, with
// what the user knows better.
func models(r *config.Resolved, provider string) catalog.Table {
	table := catalog.Builtin()
	own := catalog.Table{}
	for full, known := range r.Models {
		of, name, _ := strings.Cut(full, "/")
		if of != provider {
			continue
		}
		m, _ := table.Lookup(name)
		if known.Window > 0 {
			m.Window = known.Window
		}
		if known.MaxOutput > 0 {
			m.MaxOutput = known.MaxOutput
		}
		if known.Images != nil {
			m.Images = *known.Images
		}
		if known.Thinking != nil && !*known.Thinking {
			m.Thinking = catalog.NoThinking
		}
		own[strings.ToLower(name)] = m
	}
	return table.With(own)
}

// traits are what the engine has to know of the model.
func traits(of config.Provider, table catalog.Table, name string) model.Traits {
	var t model.Traits
	switch of.Wire {
	case config.WireOpenAI:
		t = openai.Traits(table, name)
	case config.WireAnthropic:
		t = anthropic.Traits(table, name)
	case config.WireGemini:
		return gemini.Traits(table, name)
	default:
		return chat.Traits(table, name)
	}
	if t.ToolSearch = t.ToolSearch && of.Makes(); of.ToolSearch != nil {
		t.ToolSearch = *of.ToolSearch
	}
	return t
}
