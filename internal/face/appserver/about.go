package appserver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model/catalog"
)

// initialize is served at once: what follows it may rely on it.
func (s *Server) initialize(r *jsonrpc.Request) {
	var p struct {
		ClientInfo struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"clientInfo"`
		Capabilities struct {
			OptOut []string `json:"optOutNotificationMethods"`
		} `json:"capabilities"`
	}
	if err := r.Decode(&p); err != nil {
		r.Fail(err)
		return
	}
	s.mu.Lock()
	again := s.ready
	if !again {
		s.ready, s.unasked = true, p.Capabilities.OptOut
		s.by = cmp.Or(p.ClientInfo.Name, s.by)
	}
	s.mu.Unlock()
	if again {
		r.Fail(invalid("Already initialized"))
		return
	}
	family := "unix"
	if runtime.GOOS == "windows" {
		family = "windows"
	}
	home, err := filepath.Abs(s.DataDir)
	if err != nil {
		home = s.DataDir
	}
	r.Reply(map[string]string{
		"userAgent": fmt.Sprintf("settle/%s (%s; %s) (%s; %s)", s.Version, runtime.GOOS, runtime.GOARCH, p.ClientInfo.Name, p.ClientInfo.Version),
		"codexHome": home, "platformFamily": family, "platformOs": strings.Replace(runtime.GOOS, "darwin", "macos", 1),
	})
}

// where is a parameter of several requests.
type where struct {
	Cwd           string `json:"cwd"`
	IncludeLayers bool   `json:"includeLayers"`
}

func (s *Server) configured(r *jsonrpc.Request) (where, *config.Resolved, error) {
	var p where
	if err := r.Decode(&p); err != nil {
		return p, nil, err
	}
	p.Cwd = toolview.Absolute(s.Dir, p.Cwd)
	resolved, err := s.Sessions.Settings(p.Cwd, nil)
	if err != nil {
		return p, nil, invalid("failed to load configuration: %v", err)
	}
	return p, resolved, nil
}

// configRead tells what is in force in Codex's words, as far as it has any.
func (s *Server) configRead(_ context.Context, r *jsonrpc.Request) (any, error) {
	p, resolved, err := s.configured(r)
	if err != nil {
		return nil, err
	}
	rights, err := s.preset(cmp.Or(resolved.Permission, settle.Ask))
	if err != nil {
		return nil, err
	}
	out := map[string]any{
		"model": nil, "model_provider": nil, "model_reasoning_effort": ptr(resolved.Effort),
		"approval_policy": rights.approval, "sandbox_mode": rights.mode(), "approvals_reviewer": nil,
		"developer_instructions": nil, "instructions": nil, "profiles": map[string]any{},
	}
	if c, err := resolved.Choose(); err == nil {
		out["model"], out["model_provider"] = c.Provider.Name+"/"+c.Model, c.Provider.Name
	}
	var layers *[]any
	if p.IncludeLayers {
		layers = &[]any{}
	}
	return map[string]any{"config": out, "origins": map[string]any{}, "layers": layers}, nil
}

// accountRead says that nobody has to log in: keys come from the environment
// and the configuration.
func (s *Server) accountRead(context.Context, *jsonrpc.Request) (any, error) {
	return map[string]any{"account": nil, "userId": nil, "requiresOpenaiAuth": false}, nil
}

func (s *Server) profileList(context.Context, *jsonrpc.Request) (any, error) {
	data := []any{}
	for _, id := range []string{":read-only", ":workspace", ":danger-full-access"} {
		data = append(data, map[string]any{"id": id, "description": nil, "allowed": true})
	}
	return map[string]any{"data": data, "nextCursor": nil}, nil
}

// skillsList answers for each directory that there are none.
func (s *Server) skillsList(_ context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		Cwds []string `json:"cwds"`
	}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if len(p.Cwds) == 0 {
		p.Cwds = []string{s.Dir}
	}
	data := []any{}
	for _, dir := range p.Cwds {
		data = append(data, map[string]any{"cwd": dir, "skills": []any{}, "errors": []any{}})
	}
	return map[string]any{"data": data}, nil
}

func (s *Server) skillsRoots(context.Context, *jsonrpc.Request) (any, error) { return nothing{}, nil }

// listedModel is a model as clients list them.
type listedModel struct {
	ID                    string   `json:"id"`
	Model                 string   `json:"model"`
	Upgrade               *string  `json:"upgrade"`
	UpgradeInfo           *string  `json:"upgradeInfo"`
	AvailabilityNux       *string  `json:"availabilityNux"`
	DisplayName           string   `json:"displayName"`
	Description           string   `json:"description"`
	ModelSpecialty        *string  `json:"modelSpecialty"`
	Hidden                bool     `json:"hidden"`
	Efforts               []effort `json:"supportedReasoningEfforts"`
	DefaultEffort         string   `json:"defaultReasoningEffort"`
	Modalities            []string `json:"inputModalities"`
	SupportsPersonality   bool     `json:"supportsPersonality"`
	MultiAgentVersion     *string  `json:"multiAgentVersion"`
	AdditionalSpeedTiers  []string `json:"additionalSpeedTiers"`
	ServiceTiers          []string `json:"serviceTiers"`
	DefaultServiceTier    *string  `json:"defaultServiceTier"`
	AvailableAccessGroups *string  `json:"availableAccessPrograms"`
	IsDefault             bool     `json:"isDefault"`
}

type effort struct {
	Effort      string `json:"reasoningEffort"`
	Description string `json:"description"`
}

// modelList lists the model that is used where none is named, then what else is
// known of its provider.
func (s *Server) modelList(_ context.Context, r *jsonrpc.Request) (any, error) {
	_, resolved, err := s.configured(r)
	if err != nil {
		return nil, err
	}
	data := []listedModel{}
	choice, err := resolved.Choose()
	if err != nil {
		return nil, invalid("%v", err)
	}
	table := catalog.Builtin()
	first := choice.Provider.Name + "/" + choice.Model
	names := append([]string{first}, slices.Sorted(maps.Keys(resolved.Models))...)
	if prefix := map[config.Wire]string{config.WireOpenAI: "gpt-", config.WireAnthropic: "claude-"}[choice.Provider.Wire]; prefix != "" {
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(table))) {
			if strings.HasPrefix(name, prefix) {
				names = append(names, choice.Provider.Name+"/"+name)
			}
		}
	}
	seen := map[string]bool{}
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			data = append(data, listModel(name, table, resolved.Effort, name == first))
		}
	}
	return map[string]any{"data": data, "nextCursor": nil}, nil
}

func listModel(full string, table catalog.Table, own string, isDefault bool) listedModel {
	_, name, _ := strings.Cut(full, "/")
	known, isKnown := table.Lookup(name)
	m := listedModel{
		ID: full, Model: full, DisplayName: name, Description: "as settle knows it: " + full, Efforts: []effort{{ownEffort, "As much as the model likes"}},
		DefaultEffort: cmp.Or(own, ownEffort), Modalities: []string{"text"}, AdditionalSpeedTiers: []string{}, ServiceTiers: []string{}, IsDefault: isDefault,
	}
	for _, e := range known.Efforts {
		m.Efforts = append(m.Efforts, effort{e, ""})
	}
	if known.Images || !isKnown {
		m.Modalities = append(m.Modalities, "image")
	}
	return m
}
