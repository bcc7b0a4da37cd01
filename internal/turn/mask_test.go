package turn_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

const secret = "correct-horse-battery-staple"

// split returns the secret in two parts, with text on either side.
var split = []string{"<" + secret[:9], secret[9:] + ">"}

// C15: in any text, from any source, for any split.
func TestSecretsStayAway(t *testing.T) {
	ok := script.Text("ok")
	gives := func(r tool.Result, err error) tool.Tool {
		return fn{"a", func(_ context.Context, c tool.Call) (tool.Result, error) {
			for _, piece := range split {
				c.Progress(piece)
			}
			return r, err
		}}
	}
	call := script.Call("a", `{}`)
	leak := &model.Error{
		Kind:       model.ErrAuth,
		Status:     401,
		Message:    secret,
		Body:       secret,
		URL:        "https://x/?k=" + secret,
		Hint:       secret,
		RetryAfter: -1,
	}
	cases := map[string]struct {
		steps    []script.Step
		tool     tool.Tool
		approver turn.Approver
	}{
		"text":      {steps: []script.Step{script.Text(split...)}},
		"reasoning": {steps: []script.Step{script.Turn(script.Reasoning(split...), ok)}},
		"text, cut": {steps: []script.Step{script.Turn(script.Text(split[0]+secret[9:25]), script.Fail(leak))}},
		"arguments": {steps: []script.Step{script.Call("a", `{"x":"`+split[0], split[1]+`"}`), ok}},
		"name":      {steps: []script.Step{script.Call(secret, `{}`), ok}},
		"call id":   {steps: []script.Step{script.CallID(secret, "a", `{}`), ok}},
		"output": {
			steps: []script.Step{call, ok},
			tool:  gives(tool.Result{Output: secret, Detail: []byte(`"` + secret + `"`)}, nil),
		},
		"error": {steps: []script.Step{call, ok}, tool: gives(tool.Result{}, errors.New(secret))},
		"survivors": {
			steps: []script.Step{call, ok},
			tool:  gives(tool.Result{Survivors: []event.Process{{PID: 1, Command: secret, Why: secret}}}, nil),
		},
		"panic of a tool": {
			steps: []script.Step{call, ok},
			tool:  fn{"a", func(context.Context, tool.Call) (tool.Result, error) { panic(secret) }},
		},
		"failure": {steps: []script.Step{script.Fail(leak)}},
		"panic":   {steps: []script.Step{script.Panic(secret)}},
		"denial": {steps: []script.Step{call, ok}, approver: approver(func(context.Context, approval.Call) error {
			return &approval.DeniedError{Message: secret, Policy: "deny"}
		})},
		"panic of an approver": {
			steps:    []script.Step{call, ok},
			approver: approver(func(context.Context, approval.Call) error { panic(secret) }),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				if tc.tool == nil {
					tc.tool = gives(tool.Result{Output: "A"}, nil)
				}
				b := newBench(t, script.New(tc.steps...), tc.tool)
				var logged bytes.Buffer
				b.config.Redact, b.config.Approver = redact.New(secret), tc.approver
				b.config.Logger = slog.New(slog.NewJSONHandler(&logged, nil))
				cause := b.run(t.Context())
				said := []string{cause.Error(), logged.String()}
				var streamed strings.Builder
				for _, e := range b.events() {
					line, err := e.AppendJSON(nil)
					if err != nil {
						t.Fatal(err)
					}
					said = append(said, string(line))
					if d, ok := e.Data.(event.ItemDelta); ok {
						streamed.WriteString(d.Text)
					}
				}
				for _, s := range append(said, streamed.String()) {
					if strings.Contains(s, secret) {
						t.Errorf("it got into %s", s)
					}
				}
			})
		})
	}
}
