//go:build clients && linux

package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// acpOracle is the protocol's own schema, from its SDK.
type acpOracle struct {
	defs map[string]*jsonschema.Schema

	mu       sync.Mutex // guards resolved
	resolved map[string]*jsonschema.Resolved
}

var acpSchemas = sync.OnceValues(func() (*acpOracle, error) {
	dir, err := installed()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(
		filepath.Join(dir, "node_modules", "@agentclientprotocol", "sdk", "schema", "v1", "schema.json"),
	)
	if err != nil {
		return nil, err
	}
	var root jsonschema.Schema
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, err
	}
	return &acpOracle{defs: root.Defs, resolved: map[string]*jsonschema.Resolved{}}, nil
})

// check holds a value against the definition of the name.
func (o *acpOracle) check(name string, value json.RawMessage) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.resolved[name]
	if s == nil {
		if o.defs[name] == nil {
			return fmt.Errorf("the schema has no %s", name)
		}
		var err error
		root := &jsonschema.Schema{Ref: "#/$defs/" + name, Defs: o.defs}
		if s, err = root.CloneSchemas().Resolve(nil); err != nil {
			return err
		}
		o.resolved[name] = s
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	return s.Validate(v)
}

// acpAnswers are the definitions of answers by the methods of the requests.
func acpAnswers() map[string]string {
	return map[string]string{
		"initialize": "InitializeResponse", "session/new": "NewSessionResponse", "session/load": "LoadSessionResponse",
		"session/resume": "ResumeSessionResponse", "session/list": "ListSessionsResponse", "session/close": "CloseSessionResponse", "session/delete": "DeleteSessionResponse",
		"session/prompt": "PromptResponse", "session/set_mode": "SetSessionModeResponse", "session/set_config_option": "SetSessionConfigOptionResponse",
	}
}

// acpSays maps the methods of the agent's own messages to their definitions.
func acpSays() map[string]string {
	return map[string]string{
		"session/update": "SessionNotification", "session/request_permission": "RequestPermissionRequest", "elicitation/create": "CreateElicitationRequest", "$/cancel_request": "CancelRequestNotification",
		"fs/read_text_file": "ReadTextFileRequest", "fs/write_text_file": "WriteTextFileRequest",
	}
}

// message checks one message of an agent; asked has the methods of the requests
// that it answers.
func (o *acpOracle) message(line []byte, asked func(id json.RawMessage) string) error {
	var m struct {
		JSONRPC        string
		ID             json.RawMessage
		Method         string
		Params, Result json.RawMessage
		Error          json.RawMessage
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	if m.JSONRPC != "2.0" {
		return fmt.Errorf("jsonrpc is %q", m.JSONRPC)
	}
	switch {
	case m.Method != "":
		name, ok := acpSays()[m.Method]
		if !ok {
			return fmt.Errorf("an agent does not say %q", m.Method)
		}
		return o.check(name, m.Params)
	case m.Error != nil:
		return o.check("Error", m.Error)
	default:
		name, ok := acpAnswers()[asked(m.ID)]
		if !ok {
			return fmt.Errorf("an answer to %q", asked(m.ID))
		}
		return o.check(name, m.Result)
	}
}
