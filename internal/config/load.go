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

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/repo"
)

// Input is everything that Load looks at.
type Input struct {
	// Dir is the working directory, absolute.
	Dir string
	// Getenv reads the environment. A variable that is empty is not set.
	Getenv func(name string) string
	// Flags are those that were given, by the setting's key ("max_steps" for
	// --max-steps), as text. "base_url" is a flag only.
	Flags map[string]string
	// ProjectConfig says whether the project's own files count.
	ProjectConfig ProjectConfig
	// Trust decides whether the project's files may be read.
	Trust repo.Trust
	// Family, if set, is the wire format of the agent that is stood in for. Its
	// provider is the first choice where no model is named.
	Family Wire
	// GOOS is the platform; empty is this one.
	GOOS string
}

// ProjectConfig says whether what a project says of itself counts.
type ProjectConfig string

// The values; the zero value is UseProject.
const (
	UseProject    ProjectConfig = ""
	IgnoreProject ProjectConfig = "ignore" // --no-project-config
)

// Resolved is what is in force, and where it comes from.
type Resolved struct {
	Settings
	// Origins has an entry for each setting that is not a default.
	Origins map[string]Origin
	// Notes are for the user: what of a project's file was ignored, and how
	// to set it for oneself.
	Notes []string
	// UserFile is where the user's own file is, or would be; may be empty.
	UserFile string
	// Files are those that were read.
	Files []string
	// ProjectServers are the project's own lists of MCP servers.
	ProjectServers []ProjectServers
	// ProjectHooks are those of the project's own files.
	ProjectHooks []ProjectHooks
	// Trust is the Input's.
	Trust repo.Trust

	in Input
}

type loader struct {
	Resolved
	settings []*setting
}

// Load decides what is in force. Errors are of type *Error, joined.
func Load(in Input) (*Resolved, error) {
	if in.GOOS == "" {
		in.GOOS = runtime.GOOS
	}
	l := &loader{settings: settings(), Resolved: Resolved{
		Settings: defaults(), Origins: map[string]Origin{}, UserFile: UserFile(in.GOOS, in.Getenv), Trust: in.Trust, in: in,
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
	return &l.Resolved, nil
}

// user reads the user's own file, which may say anything.
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

// walk calls found for each setting that the document has.
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
		value, ok := t.take(key)
		if _, old := t.values[k.oldKey]; old {
			if ok {
				t.fail(k.oldKey, fmt.Errorf("it is the earlier name of %q, which is set also; remove one of them", k.key))
				continue
			}
			key = k.oldKey
			value, ok = t.take(key)
		}
		if ok {
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

// price reads price = { input = …, output = … }; what the cache costs is that of
// input unless it is given.
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

// toolFamilies are those that can be chosen.
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
	for name, variable := range map[string]string{"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"} {
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
		l.Providers[name] = p
	}
	if err := l.bearer("anthropic", "ANTHROPIC_AUTH_TOKEN"); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// withUnit adds the unit that a variable has in its name.
func withUnit(variable, value string) string {
	value = strings.TrimSpace(value)
	if _, err := strconv.ParseUint(value, 10, 64); err == nil && strings.HasSuffix(variable, "_MS") {
		return value + "ms"
	}
	return value
}

// bearer has a provider send the token of a variable, as gateways want it. A
// header of the user's own stays.
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
	l.Providers[name] = p
	return nil
}

func (l *loader) flags() error {
	var errs []error
	fail := func(flag string, err error) {
		errs = append(errs, &Error{Where: flag, Key: l.keyOf(flag), Message: err.Error()})
	}
	for key, value := range l.in.Flags {
		flag := flagOf(key)
		origin := Origin{Kind: Flag, Where: flag}
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

func flagOf(key string) string {
	if key == "sandbox.use" {
		return "--sandbox"
	}
	return "--" + strings.NewReplacer("_", "-", ".", "-").Replace(key)
}

// projects reads the project's files, from the repository's root down, where
// they are to be trusted.
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
