package codex

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Flags are the values of the flags that have an effect in settle.
type Flags struct {
	Model         string
	OSS           bool
	LocalProvider string
	Sandbox       string
	FullAuto      bool // --full-auto, --approve-for-me
	Bypass        bool // --dangerously-bypass-approvals-and-sandbox
	AddDirs       []string
	Config        []string // -c key=value
}

// Known is settle's own configuration, for the choice of a provider.
type Known struct {
	// Model is the configured model as PROVIDER/NAME; can be empty.
	Model string
	// Provider returns the default model of the provider with the name, and
	// whether there is one.
	Provider func(name string) (model string, ok bool)
	Getenv   func(string) string
}

func (k Known) has(provider string) bool {
	_, ok := k.Provider(provider)
	return ok
}

// Spec is the meaning for settle of Codex's flags and overrides.
type Spec struct {
	// Settings are settle's settings, by name.
	Settings map[string]string
	// Env replaces variables of the environment; Hidden has variables with a key that
	// commands must not see.
	Env    map[string]string
	Hidden []string
	// Sandbox is empty if the client does not set it.
	Sandbox  Sandbox
	Approval string
	// Writable are writable directories besides the working directory, as the client named them.
	Writable []string
	// Network reports that a sandbox that can write has network access.
	Network bool
	// Instructions are added to the system prompt; SystemFile replaces it.
	Instructions, SystemFile string
	// Ignored lists the settings that have no effect in settle.
	Ignored []string
}

// keyVariable is the variable in which clients put the key.
const keyVariable = "CODEX_API_KEY"

// Understand translates the flags of a client.
func Understand(f Flags, known Known) (*Spec, error) {
	all, err := parseOverrides(f.Config)
	if err != nil {
		return nil, err
	}
	w := &Spec{Settings: map[string]string{}, Env: map[string]string{}, Hidden: []string{keyVariable}}
	if key := known.Getenv(keyVariable); key != "" {
		w.Env["OPENAI_API_KEY"] = key
	}
	if address := all.text("openai_base_url"); address != "" {
		w.Env["OPENAI_BASE_URL"] = address
	}
	if err := w.model(f, all, known); err != nil {
		return nil, err
	}
	w.effort(all.text("model_reasoning_effort"))
	if err := w.sandbox(f, all); err != nil {
		return nil, err
	}
	w.Instructions = all.text("developer_instructions")
	w.SystemFile = cmp.Or(all.text("model_instructions_file"), all.text("experimental_instructions_file"))
	w.own(all)
	w.harmless(all)
	w.Ignored = all.rest()
	return w, nil
}

// model finds the provider for the model, which is named without one.
func (w *Spec) model(f Flags, all overrides, known Known) error {
	model := cmp.Or(f.Model, all.text("model"))
	name := all.text("model_provider")
	if f.OSS {
		name = cmp.Or(f.LocalProvider, all.text("oss_provider"), "ollama")
	}
	switch def := all.table("model_providers").table(name); {
	case len(def) > 0:
		return w.provider(name, model, def, known)
	case name == "ollama" || name == "lmstudio":
		local := map[string]string{"ollama": "http://localhost:11434/v1", "lmstudio": "http://localhost:1234/v1"}
		w.Settings["base_url"] = local[name]
		w.Settings["model"] = "chat/" + cmp.Or(model, "gpt-oss:20b")
		return nil
	case name != "" && !known.has(name):
		return fmt.Errorf(
			"there is no provider %q: define it with -c model_providers.%s.base_url=URL, or in settle's configuration under [providers.%s]",
			name,
			name,
			name,
		)
	}
	if model == "" {
		w.unnamed(name, known)
		return nil
	}
	if of, _, ok := strings.Cut(model, "/"); ok && name == "" && known.has(of) {
		w.Settings["model"] = model
		return nil
	}
	w.Settings["model"] = cmp.Or(name, w.providerOf(model, known)) + "/" + model
	return nil
}

// unnamed chooses the provider's own model where the client names a provider, or
// its address or key, and no model; unless settle's configuration has one of that
// provider, or the client brought only the key.
func (w *Spec) unnamed(name string, known Known) {
	if name == "" {
		if w.Env["OPENAI_BASE_URL"] == "" && (w.Env["OPENAI_API_KEY"] == "" || known.Model != "") {
			return
		}
		name = "openai"
	}
	model, _ := known.Provider(name)
	if of, _, _ := strings.Cut(known.Model, "/"); of != name && model != "" {
		w.Settings["model"] = name + "/" + model
	}
}

// providerOf chooses a provider for a model: Anthropic's by its name; else
// openai, unless only the provider of the configured model could be meant.
func (w *Spec) providerOf(model string, known Known) string {
	openai := w.Env["OPENAI_API_KEY"] != "" || w.Env["OPENAI_BASE_URL"] != "" || known.Getenv("OPENAI_API_KEY") != "" ||
		known.Getenv("OPENAI_BASE_URL") != ""
	configured, _, _ := strings.Cut(known.Model, "/")
	switch {
	case strings.HasPrefix(model, "claude-") && w.Env["OPENAI_BASE_URL"] == "":
		return "anthropic"
	case !openai && configured != "":
		return configured
	}
	return "openai"
}

// provider uses a provider that the client defines.
func (w *Spec) provider(name, model string, def overrides, known Known) error {
	address := def.text("base_url")
	if _, err := url.Parse(address); err != nil || address == "" {
		return fmt.Errorf(
			"cannot use the provider %q: -c model_providers.%s.base_url is missing or no address", name, name,
		)
	}
	if model == "" {
		return fmt.Errorf("cannot use the provider %q without --model", name)
	}
	ours, variable := "openai", "OPENAI_API_KEY"
	switch wire := def.text("wire_api"); wire {
	case "", "responses":
	case "chat":
		ours, variable = "chat", "SETTLE_API_KEY"
	default:
		return fmt.Errorf("cannot use the provider %q: its wire_api is %q; responses and chat are known", name, wire)
	}
	w.Settings["base_url"], w.Settings["model"] = address, ours+"/"+model
	if err := w.key(name, variable, def, known); err != nil {
		return err
	}
	for _, silent := range []string{"name", "env_key_instructions", "supports_websockets"} {
		def.take(silent)
	}
	retries := int64(-1)
	for _, key := range []string{"request_max_retries", "stream_max_retries"} {
		if n, ok := def.number(key); ok {
			retries = max(retries, n)
		}
	}
	if retries >= 0 {
		w.Settings["retries"] = strconv.FormatInt(retries, 10)
	}
	if ms, ok := def.number("stream_idle_timeout_ms"); ok {
		w.Settings["stall_timeout"] = (time.Duration(ms) * time.Millisecond).String()
	}
	return nil
}

// key finds the key for a provider that the client defines. A key that is meant
// for OpenAI is not sent elsewhere, unless the definition says so.
func (w *Spec) key(name, variable string, def overrides, known Known) error {
	env, bearer := def.text("env_key"), def.text("experimental_bearer_token")
	auth, _ := def.take("requires_openai_auth").(bool)
	switch {
	case bearer != "":
		w.Env[variable] = bearer
	case env != "" && known.Getenv(env) == "":
		return fmt.Errorf("the provider %q needs a key: set %s", name, env)
	case env != "":
		w.Env[variable] = known.Getenv(env)
	case auth:
		w.Env[variable] = cmp.Or(known.Getenv(keyVariable), known.Getenv("OPENAI_API_KEY"))
	default:
		w.Env[variable] = ""
	}
	if env != "" {
		w.Hidden = append(w.Hidden, env)
	}
	return nil
}

func (w *Spec) effort(level string) {
	switch level {
	case "":
		return
	case "ultra", "persistent":
		level = "max"
	}
	w.Settings["effort"] = level
}

func (w *Spec) sandbox(f Flags, all overrides) error {
	mode := all.text("sandbox_mode")
	if f.FullAuto {
		mode = string(WorkspaceWrite)
	}
	mode = cmp.Or(f.Sandbox, mode)
	w.Approval = all.text("approval_policy")
	if f.Bypass {
		mode, w.Approval = string(FullAccess), "never"
	}
	if w.Sandbox = Sandbox(mode); mode != "" {
		if err := w.Sandbox.check(); err != nil {
			return err
		}
	}
	if w.Approval != "" {
		if err := Approval(w.Approval).check(); err != nil {
			return err
		}
	}
	w.Writable = slices.Clone(f.AddDirs)
	if network, isSwitch := all.table("sandbox_workspace_write")["network_access"].(bool); isSwitch {
		all.table("sandbox_workspace_write").take("network_access")
		w.Network = network
	}
	roots, _ := all.table("sandbox_workspace_write").take("writable_roots").([]any)
	for _, root := range roots {
		if dir, ok := root.(string); ok {
			w.Writable = append(w.Writable, filepath.FromSlash(dir))
		}
	}
	return nil
}

// own takes the settings of settle's own, which -c settle.NAME=VALUE sets.
func (w *Spec) own(all overrides) {
	settings, ok := all["settle"].(map[string]any)
	if !ok {
		return // reported with the other ignored settings
	}
	for name, value := range settings {
		if list, ok := value.([]any); ok {
			words := make([]string, len(list))
			for n, word := range list {
				words[n] = fmt.Sprint(word)
			}
			value = strings.Join(words, ",")
		}
		w.Settings[name] = fmt.Sprint(value)
	}
	delete(all, "settle")
}

// harmless removes overrides that make no difference: settle always does what they request, or
// never does it.
func (w *Spec) harmless(all overrides) {
	switch mode, _ := all["web_search"].(string); mode {
	case "live":
		w.Settings["web.search"] = "provider"
		fallthrough
	case "disabled":
		all.take("web_search")
	}
	for _, key := range []string{"model_reasoning_summary", "hide_agent_reasoning", "show_raw_agent_reasoning", "check_for_update_on_startup", "disable_response_storage", "history", "analytics", "otel"} {
		all.take(key)
	}
	for _, key := range []string{"exclude_slash_tmp", "exclude_tmpdir_env_var"} {
		if excluded, isSwitch := all.table("sandbox_workspace_write")[key].(bool); isSwitch && !excluded {
			all.table("sandbox_workspace_write").take(key)
		}
	}
}
