package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/client/pending"
	"github.com/settle-agent/settle/internal/scope"
)

// controlResponse answers a request.
type controlResponse struct {
	Type     string       `json:"type"`
	Response responseBody `json:"response"`
}

type responseBody struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Response  any    `json:"response,omitempty"`
	Error     string `json:"error,omitempty"`
	Code      string `json:"error_code,omitempty"`
}

// requestError is an error that has a name in the protocol.
type requestError struct {
	code string
	error
}

// errLater means that a request is answered after its work is done.
var errLater = errors.New("answered later")

// answer answers a request.
func (d *driver) answer(id string, response any, err error) {
	body := responseBody{Subtype: "success", RequestID: id, Response: response}
	switch {
	case err != nil:
		var named requestError
		errors.As(err, &named)
		body = responseBody{Subtype: "error", RequestID: id, Error: d.mask(err.Error()), Code: named.code}
	case response == nil:
		body.Response = map[string]any{}
	}
	d.out.send(controlResponse{"control_response", body})
}

// controlRequest has the parameters of the requests that settle supports.
type controlRequest struct {
	Subtype      string          `json:"subtype"`
	Mode         string          `json:"mode"`
	Model        string          `json:"model"`
	CancelQueued bool            `json:"cancel_queued"`
	Message      string          `json:"message_uuid"`
	Task         string          `json:"task_id"`
	Settings     json.RawMessage `json:"settings"`
	Servers      map[string]any  `json:"servers"`
	Server       string          `json:"server_name"`
	Relayed      json.RawMessage `json:"message"`
	Named        string          `json:"serverName"`
	Enabled      bool            `json:"enabled"`
}

// control executes a control request of the client.
func (d *driver) control(id string, raw json.RawMessage) {
	var r controlRequest
	if err := decode("the request", raw, &r); err != nil {
		d.answer(id, nil, requestError{"invalid_request", err})
		return
	}
	if response, err := d.handle(id, r, raw); !errors.Is(err, errLater) {
		d.answer(id, response, err)
	}
}

// handle returns the answer to a request.
func (d *driver) handle(id string, r controlRequest, raw json.RawMessage) (response any, err error) {
	switch r.Subtype {
	case "initialize":
		return d.initialize(id, raw)
	case "interrupt":
		return d.interrupt(id, r.CancelQueued)
	case "set_permission_mode":
		return nil, d.setMode(r.Mode)
	case "set_model":
		return nil, d.setModel(r.Model)
	case "cancel_async_message":
		return map[string]any{"cancelled": r.Message != "" && d.prompts.drop(r.Message)}, nil
	case "stop_task":
		return nil, d.stopTask(id, r.Task)
	case "apply_flag_settings":
		return nil, d.applySettings(r.Settings)
	case "mcp_status":
		return map[string]any{"mcpServers": d.serverStates()}, nil
	case "mcp_set_servers":
		errs := map[string]string{}
		for name := range r.Servers {
			errs[name] = "settle's sessions keep the MCP servers that they begin with; name it in the option mcpServers"
		}
		return map[string]any{"added": []string{}, "removed": []string{}, "errors": errs}, nil
	case "mcp_toggle", "mcp_reconnect":
		return d.toggleServer(id, r)
	case "get_binary_version":
		return map[string]any{"version": Imitated + "-settle"}, nil
	case "list_models":
		return map[string]any{"models": d.models()}, nil
	case "rewind_files":
		return map[string]any{"canRewind": false, "error": "settle does not keep copies of files"}, nil
	case "mcp_message":
		return nil, d.deliver(r.Server, r.Relayed)
	case "set_has_subscribers":
		return nil, nil
	}
	return nil, requestError{
		"unsupported_request",
		fmt.Errorf("settle does not support the control request %q", r.Subtype),
	}
}

// initializeRequest has the options of the client.
type initializeRequest struct {
	Hooks      map[string][]matcher       `json:"hooks"`
	SDKServers []string                   `json:"sdkMcpServers"`
	Servers    map[string]json.RawMessage `json:"mcpServers"`
	Schema     json.RawMessage            `json:"jsonSchema"`
	System     []string                   `json:"systemPrompt"`
	Append     string                     `json:"appendSystemPrompt"`
	Agents     map[string]json.RawMessage `json:"agents"`
	Settings   json.RawMessage            `json:"settings"`
	Disallowed []string                   `json:"disallowedTools"`
	Managed    json.RawMessage            `json:"managedSettings"`
	Plugins    []json.RawMessage          `json:"plugins"`
	Title      string                     `json:"title"`
	// ForwardText requests the texts of child agents, besides their calls.
	ForwardText bool `json:"forwardSubagentText"`
}

// systemBoundary is the marker that the SDK puts between the parts of a system prompt.
const systemBoundary = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__"

// initialize applies the options of the client, and opens the session. A second request changes
// only the hooks.
func (d *driver) initialize(id string, raw json.RawMessage) (any, error) {
	var r initializeRequest
	if err := decode("the request", raw, &r); err != nil {
		return nil, requestError{"invalid_request", err}
	}
	for _, unused := range d.hooks.set(r.Hooks) {
		d.warn(
			fmt.Sprintf(
				"hooks for %s are not called: settle supports PreToolUse, PostToolUse and PostToolUseFailure", unused,
			),
		)
	}
	out := map[string]any{
		"commands":                  []any{},
		"agents":                    []any{},
		"output_style":              "default",
		"available_output_styles":   []string{"default"},
		"account":                   map[string]any{},
		"claude_code_version":       Imitated + "-settle",
		"hook_on_failure_supported": true,
	}
	if r.Hooks != nil {
		out["hooks_applied"] = true
	}
	if d.session != nil || d.servers.asking {
		return d.initialized(out)
	}
	if err := d.adopt(r, out); err != nil {
		return nil, err
	}
	later := d.askServers(func() {
		response, err := d.initialized(out)
		d.answer(id, response, err)
		d.next()
	})
	if later {
		return nil, errLater
	}
	return d.initialized(out)
}

// initialized opens the session and completes the answer.
func (d *driver) initialized(out map[string]any) (any, error) {
	if !d.servers.asking {
		if err := d.open(); err != nil {
			return nil, err
		}
	}
	out["models"] = d.models()
	if d.session != nil {
		out["commands"], out["agents"] = slashList(d.session), agentsOf(d.session.Agent)
	}
	return out, nil
}

// adopt takes over the options that make the agent.
func (d *driver) adopt(r initializeRequest, out map[string]any) error {
	if len(r.Schema) > 0 && string(r.Schema) != "null" {
		d.Schema = string(r.Schema)
	}
	if system := slices.DeleteFunc(
		r.System, func(part string) bool { return part == "" || part == systemBoundary },
	); len(
		system,
	) > 0 {
		text := strings.Join(system, "\n\n")
		d.System = &text
	}
	d.childText = r.ForwardText
	d.Append = strings.TrimSpace(d.Append + "\n\n" + r.Append)
	if err := d.adoptServers(r, out); err != nil {
		return err
	}
	if len(r.Agents) > 0 {
		d.warn("the client's agents were ignored, because settle reads agents from files: " +
			strings.Join(names(r.Agents), ", "))
	}
	if len(r.Plugins) > 0 {
		d.warn("the client's plugins were ignored: only the user adds plugins, with settle plugins add")
		out["plugins_applied"] = false
	}
	if len(r.Disallowed) > 0 {
		d.Disallowed = append(d.Disallowed, r.Disallowed...)
		out["disallowed_tools_applied"] = true
	}
	if len(r.Settings) > 0 {
		if err := d.Take(string(r.Settings)); err != nil {
			return err
		}
		out["settings_applied"] = true
	}
	return nil
}

// adoptServers takes over the MCP servers that the client brings along.
func (d *driver) adoptServers(r initializeRequest, out map[string]any) error {
	for _, name := range r.SDKServers {
		d.own(name)
	}
	if r.Servers == nil {
		return nil
	}
	before := len(d.Warnings)
	if err := d.addServers(r.Servers, d.Dir, d.Sessions.Base.Getenv); err != nil {
		return requestError{"invalid_request", err}
	}
	for _, warning := range d.Warnings[before:] {
		d.warn(warning)
	}
	out["mcp_servers_applied"] = true
	return nil
}

// models returns the models for the client: only the model in use.
func (d *driver) models() []map[string]any {
	name := d.Model
	if d.session != nil {
		name = d.session.Agent.Session.Model.Name
	}
	return []map[string]any{
		{"value": "default", "resolvedModel": name, "displayName": name, "description": "the configured model"},
	}
}

// interrupt interrupts the turn that runs or is about to start, and answers when its
// result was sent (C10). It does not cover later messages of the client.
func (d *driver) interrupt(id string, cancelQueued bool) (any, error) {
	receipt := map[string]any{"still_queued": d.prompts.uuids()}
	if cancelQueued && d.session != nil {
		receipt["still_queued"], receipt["cancelled"] = []string{}, d.prompts.uuids()
		d.prompts.drop("")
	}
	target := d.prompts.current // also if its turn has ended and the result was not sent yet
	if target == nil {
		return receipt, nil
	}
	d.prompts.interrupts++
	ctx := context.WithoutCancel(d.ctx)
	if f := target.Request.fetched; f != nil {
		ctx = f
	}
	go scope.Shield(d.panicked, func() { // ends with the turn, or when there will be none
		o, err := d.session.Interrupt(ctx, settle.Interruption{By: by, Input: target.Key})
		if ctx.Err() != nil {
			err = nil // nothing is left to interrupt
		}
		d.post(func() { d.interrupted(id, target, receipt, o, err) })
	})()
	return nil, errLater
}

// interrupted answers an interrupt when the result of its turn was sent, or the result of
// a prompt that starts no turn.
func (d *driver) interrupted(
	id string, target *pending.Entry[*prompt], receipt map[string]any, o settle.Outcome, err error,
) {
	if o.Cause != nil {
		receipt["outcome"], receipt["reason"] = o.Cause.Outcome, o.Cause.Reason
	}
	answer := func() {
		d.prompts.interrupts--
		d.answer(id, receipt, err)
		d.next()
	}
	if o.Turn == "" && d.prompts.fetching == target && d.results.awaiting.Add(fetchOf(target), answer) != nil {
		return
	}
	d.results.after(o.Turn, answer)
}

func (d *driver) setMode(mode string) error {
	if mode == modeBypass && !d.MayBypass && d.Mode != modeBypass {
		return errors.New(
			"cannot set permission mode to bypassPermissions because " +
				"the session was not launched with --dangerously-skip-permissions",
		)
	}
	err := d.policy.set(mode)
	if err == nil && d.session == nil {
		d.Mode = mode // it will be opened with it
	}
	return err
}

// stopTask ends a job.
func (d *driver) stopTask(id, task string) error {
	if d.session == nil {
		return &settle.NoJobError{Job: task}
	}
	go scope.Shield(d.panicked, func() { // ends when the job has, which is bounded
		err := d.session.KillJob(context.WithoutCancel(d.ctx), task)
		d.post(func() { d.answer(id, nil, err) })
	})()
	return errLater
}

// applySettings changes the settings that can change while the session runs.
func (d *driver) applySettings(raw json.RawMessage) error {
	if d.session == nil {
		return d.Take(string(raw))
	}
	var o Options
	if err := o.settings(raw); err != nil {
		return err
	}
	for _, warning := range o.Warnings {
		d.warn(warning)
	}
	d.policy.add(rulesFor(settle.Allow, specs(o.Allowed...)).rules...)
	d.policy.add(rulesFor(settle.Deny, specs(o.Disallowed...)).rules...)
	d.addDirectories(o.AddDirs)
	if o.Model != "" {
		if err := d.setModel(o.Model); err != nil {
			return err
		}
	}
	if o.Mode != "" {
		return d.setMode(o.Mode)
	}
	return nil
}
