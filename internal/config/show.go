package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/redact"
)

// Line is one setting for people.
type Line struct {
	Key    string
	Value  string // secrets are masked; empty if not set
	Origin Origin
}

// Lines returns the configuration in force, for `settle config`.
func (r *Resolved) Lines() []Line {
	var lines []Line
	if r.BaseURL != "" {
		lines = append(lines, Line{"base_url", r.BaseURL, r.origin("base_url")})
	}
	for _, k := range settings() {
		value := shown(k.get(&r.Settings))
		if words := unset(k.key); words != "" && r.origin(k.key).Kind == Default {
			value = words
		}
		lines = append(lines, Line{k.key, value, r.origin(k.key)})
	}
	lines = append(lines, r.chosenLines()...)
	for _, p := range sortedProviders(r.Providers) {
		lines = append(lines, r.providerLines(p)...)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Models)) {
		lines = append(lines, Line{
			fmt.Sprintf("models.%q", name), r.Models[name].String(),
			Origin{Kind: File, Where: r.UserFile},
		})
	}
	for _, s := range r.SortedServers() {
		lines = append(lines, r.serverLines(s)...)
	}
	for n := range r.Plugins {
		p := &r.Plugins[n]
		lines = append(lines, Line{"plugins." + p.Name, p.State() + ", " + p.Digest, Origin{Plugin, p.Source}})
	}
	for i, rule := range r.Rules {
		lines = append(lines, Line{fmt.Sprintf("rules.%d", i+1), rule.String(), rule.Origin})
	}
	mask := redact.New(r.Secrets()...)
	for i := range lines {
		lines[i].Value = mask.Diagnostic(lines[i].Value)
	}
	return lines
}

// unset describes the behaviour of an unset setting without a default value.
func unset(key string) string {
	switch key {
	case "model":
		return "see chosen.model"
	case "effort":
		return "the model's own"
	case "sandbox.use":
		return "terminal, serve: auto; exec, app-server: by mode; review: auto; elsewhere: off"
	case "permission", "jobs.release":
		return "run: allow; elsewhere: ask"
	case "retries":
		return "by kind of fault"
	case "tools":
		return "all"
	case "pass_env":
		return "none"
	}
	return ""
}

// chosenLines describe the next turn: the model, its provider, the source of the key, and
// the limits for that server.
func (r *Resolved) chosenLines() []Line {
	c, err := r.Choose()
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n")
		return []Line{{"chosen.model", "none: " + what, r.origin("model")}}
	}
	from := r.origin("model")
	if r.Model == "" {
		from.Where = "the first provider that is ready"
	}
	w := r.Watchdog(c.Provider)
	s := &section{prefix: "chosen."}
	add := s.add
	add("model", c.String(), from)
	add("base_url", c.Provider.BaseURL, c.Provider.BaseURLOrigin)
	source := r.KeySource(c.Provider)
	if strings.HasPrefix(source, "from ") {
		source = redact.Mask + " " + source
	}
	add("key", source, c.Provider.Origin)
	add("header_timeout", trimmed(w.HeaderTimeout), r.origin("header_timeout"))
	add("stall_timeout", trimmed(w.StallTimeout), r.origin("stall_timeout"))
	add("thinking_timeout", trimmed(w.ThinkingTimeout), r.origin("thinking_timeout"))
	return s.lines
}

// KeySource returns the source of the provider's key ("from …"), or the missing setting ("missing:
// …"); never the key. It runs no key_command.
func (r *Resolved) KeySource(p Provider) string {
	switch {
	case p.KeyEnv != "" && strings.TrimSpace(r.in.Getenv(p.KeyEnv)) != "":
		return "from " + p.KeyEnv
	case p.KeyFile != "" && p.fileErr != nil:
		return fmt.Sprintf("missing: key_file cannot be used: %v", p.fileErr)
	case p.KeyFile != "":
		return "from " + p.KeyFile
	case len(p.KeyCommand) > 0:
		return "from key_command: " + strings.Join(p.KeyCommand, " ")
	case p.Auth == AuthSigV4:
		if _, err := r.awsKey(p); err != nil {
			return "missing: " + setAWS
		}
		return "from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	case p.bearer:
		return "from the header Authorization"
	case r.needsKey(p):
		return "missing: set " + p.KeyEnv
	}
	return "none is needed"
}

// section collects the lines of a named table.
type section struct {
	prefix string
	lines  []Line
}

// add adds a line for a value that is set.
func (s *section) add(key, value string, origin Origin) {
	if value != "" {
		s.lines = append(s.lines, Line{s.prefix + key, value, origin})
	}
}

func (r *Resolved) providerLines(p Provider) []Line {
	s := &section{prefix: "providers." + p.Name + "."}
	add := s.add
	add("preset", p.Preset, p.Origin)
	add("wire", string(p.Wire), p.Origin)
	add("auth", string(p.Auth), p.Origin)
	add("base_url", p.BaseURL, p.BaseURLOrigin)
	add("model", p.Model, p.Origin)
	if p.KeyEnv != "" {
		state := " (not set)"
		if r.in.Getenv(p.KeyEnv) != "" {
			state = " (set)"
		}
		add("key_env", p.KeyEnv+state, p.Origin)
	}
	add("key_command", strings.Join(p.KeyCommand, " "), p.Origin)
	add("key_file", p.KeyFile, p.Origin)
	add("headers", pairsShown(p.Headers), p.Origin)
	add("query", pairsShown(p.Query), p.Origin)
	add("ca_file", p.CAFile, p.Origin)
	if len(p.ExtraBody) > 0 {
		add("extra_body", bodyShown(p.ExtraBody), p.Origin)
	}
	add("dialect", p.Dialect, p.Origin)
	if p.ToolSearch != nil {
		add("tool_search", fmt.Sprint(*p.ToolSearch), p.Origin)
	}
	if p.MaxConcurrent != 0 {
		add("limits.max_concurrent", shown(p.MaxConcurrent), p.Origin)
	}
	return s.lines
}

func pairsShown(pairs map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		value := pairs[name]
		if Credential(name) {
			value = redact.Mask
		}
		parts = append(parts, name+"="+value)
	}
	return strings.Join(parts, " ")
}

func bodyShown(body map[string]any) string {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Sprintf("%d keys", len(body))
	}
	return string(text)
}

func shown(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case time.Duration:
		return trimmed(v)
	case []string:
		return strings.Join(v, ",")
	}
	return fmt.Sprint(value)
}

// trimmed writes 10m0s as 10m and 1h0m0s as 1h.
func trimmed(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (m Model) String() string {
	var parts []string
	for _, limit := range []struct {
		name  string
		value int
	}{{"window", m.Window}, {"max_output", m.MaxOutput}} {
		if limit.value > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", limit.name, limit.value))
		}
	}
	if p := m.Price; p != nil {
		parts = append(parts, fmt.Sprintf("price=%g/%g/%g/%g", p.Input, p.CacheRead, p.CacheWrite, p.Output))
	}
	for _, able := range []struct {
		name  string
		value *bool
	}{{"images", m.Images}, {"documents", m.Documents}, {"thinking", m.Thinking}} {
		if able.value != nil {
			parts = append(parts, fmt.Sprintf("%s=%t", able.name, *able.value))
		}
	}
	if m.ToolFamily != "" {
		parts = append(parts, "tool_family="+m.ToolFamily)
	}
	return strings.Join(parts, " ")
}
