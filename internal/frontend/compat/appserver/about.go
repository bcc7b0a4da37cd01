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
	"github.com/settle-agent/settle/internal/frontend/compat/codex"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model/catalog"
)

// initialize responds at once: later requests can rely on it.
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
	repeated := s.ready
	if !repeated {
		s.ready, s.unasked = true, p.Capabilities.OptOut
	}
	s.mu.Unlock()
	if repeated {
		r.Fail(invalid("Already initialized"))
		return
	}
	s.SetClientName(p.ClientInfo.Name)
	family := "unix"
	if runtime.GOOS == "windows" {
		family = "windows"
	}
	home, err := filepath.Abs(s.disk.Dir)
	if err != nil {
		home = s.disk.Dir
	}
	r.Reply(object{
		"userAgent": fmt.Sprintf(
			"settle/%s (%s; %s) (%s; %s)", s.Version, runtime.GOOS, runtime.GOARCH, p.ClientInfo.Name,
			p.ClientInfo.Version,
		),
		"codexHome":      home,
		"platformFamily": family,
		"platformOs":     strings.Replace(runtime.GOOS, "darwin", "macos", 1),
	})
}

// where is a parameter of several requests.
type where struct {
	Cwd           string `json:"cwd"`
	IncludeLayers bool   `json:"includeLayers"`
}

func (s *Server) configured(dir string) (*config.Resolved, error) {
	resolved, err := s.Sessions.Settings(toolview.Absolute(s.Dir, dir), nil)
	if err != nil {
		return nil, invalid("failed to load configuration: %v", err)
	}
	return resolved, nil
}

// configRead returns the settings in force in Codex's words, as far as Codex has words for them.
func (s *Server) configRead(_ context.Context, p where) (any, error) {
	resolved, err := s.configured(p.Cwd)
	if err != nil {
		return nil, err
	}
	rights, err := s.preset(cmp.Or(resolved.Permission, settle.Ask))
	if err != nil {
		return nil, err
	}
	out := object{
		"model_reasoning_effort": ptr(
			resolved.Effort,
		),
		"approval_policy": rights.Approval,
		"sandbox_mode":    rights.SandboxMode(),
		"profiles":        object{},
	}
	setNull(out, "model", "model_provider", "approvals_reviewer", "developer_instructions", "instructions")
	if c, err := resolved.Choose(); err == nil {
		out["model"], out["model_provider"] = c.Provider.Name+"/"+c.Model, c.Provider.Name
	}
	answer := object{"config": out, "origins": object{}, "layers": nil}
	if p.IncludeLayers {
		answer["layers"] = []any{}
	}
	return answer, nil
}

// profileList answers which profiles there are.
func profileList() object {
	data := []object{}
	for _, id := range codex.Profiles() {
		data = append(data, object{"id": id, "description": nil, "allowed": true})
	}
	return object{"data": data, "nextCursor": nil}
}

// skillsParams name directories.
type skillsParams struct {
	Cwds []string `json:"cwds"`
}

// modelList lists the default model first, then the other known models of its provider.
func (s *Server) modelList(_ context.Context, p where) (any, error) {
	resolved, err := s.configured(p.Cwd)
	if err != nil {
		return nil, err
	}
	choice, err := resolved.Choose()
	if err != nil {
		return nil, err
	}
	table := catalog.Builtin()
	first := choice.Provider.Name + "/" + choice.Model
	names := append([]string{first}, slices.Sorted(maps.Keys(resolved.Models))...)
	if prefix := map[config.Wire]string{config.WireOpenAI: "gpt-", config.WireAnthropic: "claude-", config.WireGemini: "gemini-"}[choice.Provider.Wire]; prefix != "" {
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(table))) {
			if strings.HasPrefix(name, prefix) {
				names = append(names, choice.Provider.Name+"/"+name)
			}
		}
	}
	seen := map[string]bool{}
	data := []object{}
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			data = append(data, listModel(name, table, resolved.Effort, name == first))
		}
	}
	return object{"data": data, "nextCursor": nil}, nil
}

func listModel(full string, table catalog.Table, own string, isDefault bool) object {
	_, name, _ := strings.Cut(full, "/")
	known, isKnown := table.Lookup(name)
	efforts := []object{{"reasoningEffort": ownEffort, "description": "As much as the model likes"}}
	for _, e := range known.Efforts {
		efforts = append(efforts, object{"reasoningEffort": e, "description": ""})
	}
	modalities := []string{"text"}
	if known.Images || !isKnown {
		modalities = append(modalities, "image")
	}
	out := object{
		"id":                        full,
		"model":                     full,
		"displayName":               name,
		"description":               "as settle knows it: " + full,
		"isDefault":                 isDefault,
		"hidden":                    false,
		"supportedReasoningEfforts": efforts,
		"defaultReasoningEffort":    cmp.Or(own, ownEffort),
		"inputModalities":           modalities,
		"supportsPersonality":       false,
		"additionalSpeedTiers":      []string{},
		"serviceTiers":              []string{},
	}
	setNull(
		out, "upgrade", "upgradeInfo", "availabilityNux", "modelSpecialty", "multiAgentVersion", "defaultServiceTier",
		"availableAccessPrograms",
	)
	return out
}
