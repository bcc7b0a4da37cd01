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
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/gemini"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/model/transport/sigv4"
)

// keyTimeout bounds a key_command.
const keyTimeout = 30 * time.Second

// runCommand runs a key_command with process tracking.
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

// keyDir is the working directory of a key_command: the directory of the file that names
// it. The session's working directory can be untrusted, and many programs obey files in it.
func keyDir(r *config.Resolved) string {
	if dir := filepath.Dir(r.UserFile); r.UserFile != "" && disk.Exists(dir) {
		return dir
	}
	return Nowhere()
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}

// key fetches the provider's key, and keeps the function that fetches another one.
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

// endpoint returns the address, key and HTTP client of the chosen provider.
func (o Options) endpoint(c config.Choice, k *key) transport.Endpoint {
	endpoint := transport.Endpoint{
		BaseURL: c.Provider.BaseURL, Key: k.get,
		Header: http.Header{}, Query: url.Values{}, Extra: c.Provider.ExtraBody,
		Client: transport.NewClient(o.transport(c.Provider)), AuthHint: authHint(c.Provider),
	}
	if k.fetch != nil {
		endpoint.Renew = k.renew
	}
	switch p := c.Provider; p.Auth {
	case config.AuthSigV4:
		endpoint.Sign = sigv4.Signer{Region: p.Region, Service: p.Service}.Sign
	default:
		endpoint.Auth = transport.Auth(p.Auth)
	}
	endpoint.RenewForbidden = c.Provider.Service != "" // of AWS
	for name, value := range c.Provider.Headers {
		endpoint.Header.Set(name, value)
	}
	for name, value := range c.Provider.Query {
		endpoint.Query.Set(name, value)
	}
	return endpoint
}

// provider returns the provider for the wire format.
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
	// On other platforms, the standard library reads the variable.
	if file := o.Getenv("SSL_CERT_FILE"); file != "" && (runtime.GOOS == "darwin" || runtime.GOOS == "windows") {
		c.CAFiles = append(c.CAFiles, file)
	}
	return c
}

// authHint states how to replace a refused key.
func authHint(p config.Provider) string {
	switch {
	case len(p.KeyCommand) > 0 && p.KeyEnv == "":
		return "check what the provider's key_command prints"
	case p.Auth == config.AuthSigV4:
		return "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, and the rights of that identity"
	case p.KeyEnv != "":
		return "set " + p.KeyEnv + " to a valid key"
	case p.KeyFile != "":
		return "put a valid key into " + p.KeyFile + ", or run \"settle setup\""
	}
	return fmt.Sprintf("name a key with key_env under [providers.%s]", p.Name)
}

// price returns the configured price of a model, or the price in settle's table if the
// provider is the model's maker: other providers have their own prices, and requests for
// another service also do.
func price(r *config.Resolved, choice config.Choice) *model.Price {
	if known := r.Models[choice.Provider.Name+"/"+choice.Model].Price; known != nil {
		return &model.Price{
			Input: known.Input, CacheRead: known.CacheRead, CacheWrite: known.CacheWrite,
			Output: known.Output,
		}
	}
	if len(choice.Provider.ExtraBody) > 0 || !choice.Provider.Makes() {
		return nil
	}
	return catalog.Price(choice.Model)
}

// models returns the table of models under the provider's names, with the user's
// corrections.
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

// takesFiles reports whether a Chat Completions server takes PDFs.
func takesFiles(of config.Provider) bool {
	u, err := url.Parse(of.BaseURL)
	return err == nil && chat.TakesFiles(u.Hostname())
}

// documentPages returns the maximum number of pages of a PDF for a model, if a setting determines
// whether it reads PDFs.
func documentPages(reads bool, known int) int {
	const unknown = 100 // the least of the known limits
	switch {
	case !reads:
		return 0
	case known == 0:
		return unknown
	}
	return known
}

// traits returns the engine's data about the model, with the user's about PDFs.
func traits(r *config.Resolved, of config.Provider, table catalog.Table, name string) model.Traits {
	t := wireTraits(of, table, name)
	if reads := r.Models[of.Name+"/"+name].Documents; reads != nil {
		t.DocumentPages = documentPages(*reads, t.DocumentPages)
	}
	return t
}

func wireTraits(of config.Provider, table catalog.Table, name string) model.Traits {
	var t model.Traits
	switch of.Wire {
	case config.WireOpenAI:
		t = openai.Traits(table, name)
	case config.WireAnthropic:
		t = anthropic.Traits(table, name)
	case config.WireGemini:
		return gemini.Traits(table, name)
	default:
		if t = chat.Traits(table, name); !takesFiles(of) {
			t.DocumentPages = 0
		}
		return t
	}
	if t.ToolSearch = t.ToolSearch && of.Makes(); of.ToolSearch != nil {
		t.ToolSearch = *of.ToolSearch
	}
	return t
}
