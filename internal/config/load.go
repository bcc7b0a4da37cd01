package config

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/settle-agent/settle/internal/config/plugin"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/repo"
)

// Input is the complete input of Load.
type Input struct {
	// Dir is the absolute working directory.
	Dir string
	// Getenv reads the environment. An empty variable counts as unset.
	Getenv func(name string) string
	// Flags are the values of the flags by setting key ("max_steps" for --max-steps).
	// "base_url" exists only as a flag.
	Flags map[string]string
	// ProjectConfig decides whether the project's own files are read.
	ProjectConfig ProjectConfig
	// Trust decides which projects are trusted.
	Trust repo.Trust
	// Family, if set, is the wire format of the agent that a compatibility command
	// replaces. Without a named model, its provider is preferred.
	Family Wire
	// GOOS is the platform; empty for the current one.
	GOOS string
}

// ProjectConfig decides whether the project's own files are read.
type ProjectConfig string

// The values; the zero value is UseProject.
const (
	UseProject    ProjectConfig = ""
	IgnoreProject ProjectConfig = "ignore" // --no-project-config
)

// Resolved is the configuration in force, with the origin of each value.
type Resolved struct {
	Settings
	// Origins has an entry for each setting without its default value.
	Origins map[string]Origin
	// Notes tell the user which values of a project's file were ignored, and how to set
	// them.
	Notes []string
	// Refusals are the notes about reasons for which each call is refused.
	Refusals []string
	// UserFile is the path of the user's own file, which need not exist; can be empty.
	UserFile string
	// Files are the files that were read.
	Files []string
	// ProjectServers are the project's own lists of MCP servers.
	ProjectServers []ProjectServers
	// ProjectHooks are the hooks of the project's own files.
	ProjectHooks []ProjectHooks
	// Plugins are the user's plugins, including unused ones.
	Plugins []plugin.Plugin
	// Trust is the Trust of the Input.
	Trust repo.Trust

	in         Input
	baseURLFor string // the provider of the address in BaseURL; empty for the chosen model's
}

type loader struct {
	Resolved
	settings []*setting
}

// Load resolves the configuration. Errors are of type *Error, joined.
func Load(in Input) (*Resolved, error) {
	if in.GOOS == "" {
		in.GOOS = runtime.GOOS
	}
	l := &loader{settings: settings(), Resolved: Resolved{
		Settings: defaults(), Origins: map[string]Origin{}, UserFile: UserFile(in.GOOS, in.Getenv), Trust: in.Trust,
		in: in,
	}}
	l.DataDir = dataDir(in.GOOS, in.Getenv)
	if err := l.user(); err != nil {
		return nil, err
	}
	if in.ProjectConfig != IgnoreProject {
		if err := l.projects(); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(l.environment(), l.flags()); err != nil {
		return nil, err
	}
	if err := disk.CheckOwned(l.DataDir); err != nil {
		return nil, &Error{Where: "data_dir", Message: err.Error()}
	}
	l.importRules()
	l.importServers()
	if in.ProjectConfig != IgnoreProject {
		l.projectServers()
	}
	l.hooks()
	l.plugins()
	resolved := l.Resolved // without the table of settings, which a session would keep in memory
	return &resolved, nil
}

// user reads the user's own file, which can set everything.
func (l *loader) user() error {
	if l.UserFile == "" {
		return nil
	}
	doc, err := read(l.UserFile, readOwned)
	if doc == nil || err != nil {
		return err
	}
	l.Files = append(l.Files, doc.path)
	top := doc.root()
	l.walk(top, func(t *table, key string, k *setting, value any) {
		if err := k.set(&l.Settings, value); err != nil {
			t.fail(key, err)
			return
		}
		l.Origins[k.key] = Origin{Kind: File, Where: t.where(key)}
	})
	if providers := top.table("providers"); providers != nil {
		for _, name := range providers.keys() {
			if t := providers.table(name); t != nil {
				l.provider(t, name)
			}
		}
	}
	if models := top.table("models"); models != nil {
		for _, name := range models.keys() {
			if t := models.table(name); t != nil {
				l.model(t, name)
			}
		}
	}
	l.servers(top)
	l.ownHooks(top)
	l.Rules = rules(top, Origin{Kind: File})
	top.done()
	l.DataDir = expand(l.DataDir, filepath.Dir(doc.path), l.in.Getenv)
	return errors.Join(*top.errs...)
}

// walk calls found for each setting in the document.
func (l *loader) walk(top *table, found func(t *table, key string, k *setting, value any)) {
	groups := map[string]*table{"": top}
	for _, k := range l.settings {
		group, key, nested := strings.Cut(k.key, ".")
		if !nested {
			group, key = "", k.key
		}
		t, known := groups[group]
		if !known {
			t = top.table(group)
			groups[group] = t
		}
		if t == nil {
			continue
		}
		if value, ok := t.take(key); ok {
			found(t, key, k, value)
		}
	}
	for name, t := range groups {
		if name != "" && t != nil {
			t.done()
		}
	}
}

// model reads [models."PROVIDER/NAME"].
func (l *loader) model(t *table, name string) {
	var m Model
	get(t, "window", &m.Window, asCount)
	get(t, "max_output", &m.MaxOutput, asCount)
	get(t, "images", &m.Images, asSwitch)
	get(t, "documents", &m.Documents, asSwitch)
	get(t, "thinking", &m.Thinking, asSwitch)
	get(t, "tool_family", &m.ToolFamily, asFamily)
	m.Price = price(t)
	t.done()
	if !strings.Contains(name, "/") {
		*t.errs = append(*t.errs, &Error{
			Where: t.doc.where(t.path...), Key: "models",
			Message: fmt.Sprintf("%q must be \"PROVIDER/NAME\"", name),
		})
	}
	l.Models[name] = m
}

// price reads price = { input = …, output = … }; the cache prices default to the input
// price.
func price(t *table) *Price {
	inner := t.table("price")
	if inner == nil {
		return nil
	}
	var p Price
	for _, key := range []string{"input", "output"} {
		if _, given := inner.values[key]; !given {
			inner.fail(key, errors.New("is missing: US dollars per million tokens"))
		}
	}
	get(inner, "input", &p.Input, asDollars)
	p.CacheRead, p.CacheWrite = p.Input, p.Input
	get(inner, "cache_read", &p.CacheRead, asDollars)
	get(inner, "cache_write", &p.CacheWrite, asDollars)
	get(inner, "output", &p.Output, asDollars)
	inner.done()
	return &p
}

// toolFamilies are the valid tool families.
func toolFamilies() []string { return []string{"settle", "gpt", "claude"} }

func asFamily(value any) (string, error) {
	name, err := asText(value)
	if err == nil && !slices.Contains(toolFamilies(), name) {
		err = fmt.Errorf("must be one of %s, not %q", strings.Join(toolFamilies(), ", "), name)
	}
	return name, err
}

func asSwitch(value any) (*bool, error) {
	on, ok := value.(bool)
	if !ok {
		return nil, fmt.Errorf("must be true or false, not %s", described(value))
	}
	return &on, nil
}

func (l *loader) environment() error {
	var errs []error
	for _, k := range l.settings {
		if k.env == "" || l.in.Getenv(k.env) == "" {
			continue
		}
		if err := k.set(&l.Settings, withUnit(k.env, l.in.Getenv(k.env))); err != nil {
			errs = append(errs, &Error{Where: k.env, Message: err.Error()})
			continue
		}
		l.Origins[k.key] = Origin{Kind: Env, Where: k.env}
	}
	l.DataDir = expand(l.DataDir, l.in.Dir, l.in.Getenv)
	for name, variable := range map[string]string{
		"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL",
		"gemini": "GOOGLE_GEMINI_BASE_URL",
	} {
		value := l.in.Getenv(variable)
		if value == "" {
			continue
		}
		base, err := asURL(value)
		if err != nil {
			errs = append(errs, &Error{Where: variable, Message: err.Error()})
			continue
		}
		p := l.Providers[name]
		p.BaseURL, p.BaseURLOrigin = base, Origin{Kind: Env, Where: variable}
		l.setProvider(name, p)
	}
	if err := l.bearer("anthropic", "ANTHROPIC_AUTH_TOKEN"); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// withUnit adds the unit in a variable's name to its value.
func withUnit(variable, value string) string {
	value = strings.TrimSpace(value)
	if _, err := strconv.ParseUint(value, 10, 64); err == nil && strings.HasSuffix(variable, "_MS") {
		return value + "ms"
	}
	return value
}

// bearer makes a provider send the token in a variable, as gateways require. A header that
// the user set wins.
func (l *loader) bearer(name, variable string) error {
	token, p := strings.TrimSpace(l.in.Getenv(variable)), l.Providers[name]
	for header := range p.Headers {
		if strings.EqualFold(header, "Authorization") {
			return nil
		}
	}
	if token == "" {
		return nil
	}
	if strings.ContainsFunc(token, unicode.IsControl) {
		return &Error{Where: variable, Message: "must be one line without control characters"}
	}
	p.Headers = maps.Clone(p.Headers)
	if p.Headers == nil {
		p.Headers = map[string]string{}
	}
	p.Headers["Authorization"] = "Bearer " + token
	p.secrets, p.vars, p.bearer = append(slices.Clone(p.secrets), token), append(slices.Clone(p.vars), variable), true
	l.setProvider(name, p)
	return nil
}

func (l *loader) flags() error {
	var errs []error
	fail := func(flag string, err error) {
		errs = append(errs, &Error{Where: flag, Key: l.keyOf(flag), Message: err.Error()})
	}
	for key, value := range l.in.Flags {
		flag := FlagOf(key)
		origin := Origin{Kind: Flag, Where: flag}
		if key == addressFor {
			l.baseURLFor = value
			continue
		}
		if key == "base_url" {
			base, err := asURL(value)
			if err != nil {
				fail(flag, err)
			}
			l.BaseURL = base
			l.Origins[key] = origin
			continue
		}
		at := slices.IndexFunc(l.settings, func(k *setting) bool { return k.key == key })
		if at < 0 {
			fail(flag, fmt.Errorf("unknown setting"))
			continue
		}
		if err := l.settings[at].set(&l.Settings, value); err != nil {
			fail(flag, err)
		}
		l.Origins[key] = origin
	}
	l.DataDir = expand(l.DataDir, l.in.Dir, l.in.Getenv)
	return errors.Join(errs...)
}

func (l *loader) keyOf(flag string) string {
	return strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_")
}

// FlagOf returns the flag of a setting.
func FlagOf(key string) string {
	if key == "sandbox.use" {
		return "--sandbox"
	}
	return "--" + strings.NewReplacer("_", "-", ".", "-").Replace(key)
}

// projects reads the trusted files of the project, from the repository's root down.
func (l *loader) projects() error {
	project := l.in.Trust.Project(l.in.Dir)
	l.Notes = append(l.Notes, project.Notes...)
	for _, dir := range project.Dirs {
		doc, err := read(filepath.Join(dir, ".settle", "config.toml"), project.ReadFile)
		if err == nil && doc != nil {
			l.Files = append(l.Files, doc.path)
			err = l.projectFile(doc)
		}
		if err != nil {
			return fmt.Errorf("%w\n(use --no-project-config to ignore the project's files)", err)
		}
	}
	return nil
}
