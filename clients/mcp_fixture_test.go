//go:build clients && linux

package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// fixture is the server that the conformance suite expects: its tools, resources and prompts have
// fixed names and answers. settle's own endpoint serves them.
func fixture() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "fixture", Version: "1"}, &sdk.ServerOptions{
		CompletionHandler: func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
		},
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	fixedTools(s)
	talkingTools(s)
	formTools(s)
	fixedResources(s)
	fixedPrompts(s)
	return s
}

// The smallest picture and sound that are ones.
var (
	picture = []byte(
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x03\x00\x08\xfc\x02\xfe\xa7\x9a\xa0\xa0\x00\x00\x00\x00IEND\xaeB`\x82",
	)
	sound = []byte(
		"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00",
	)
)

type content = []sdk.Content

func words(format string, args ...any) sdk.Content {
	return &sdk.TextContent{Text: fmt.Sprintf(format, args...)}
}

func embedded(uri, text string) sdk.Content {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: text}}
}

// offer adds a tool without arguments that are known.
func offer(s *sdk.Server, name string, run func(context.Context, *sdk.CallToolRequest) (content, error)) {
	offerFor(s, name, json.RawMessage(`{"type":"object"}`), run)
}

func offerFor(
	s *sdk.Server,
	name string,
	schema json.RawMessage,
	run func(context.Context, *sdk.CallToolRequest) (content, error),
) {
	s.AddTool(
		&sdk.Tool{Name: name, Description: "Tests " + name, InputSchema: schema},
		func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			out, err := run(ctx, req)
			if err != nil {
				res := &sdk.CallToolResult{}
				res.SetError(err)
				return res, nil
			}
			return &sdk.CallToolResult{Content: out}, nil
		},
	)
}

func fixedTools(s *sdk.Server) {
	image := &sdk.ImageContent{Data: picture, MIMEType: "image/png"}
	for name, out := range map[string]content{
		"test_simple_text":            {words("This is a simple text response for testing.")},
		"test_image_content":          {image},
		"test_audio_content":          {&sdk.AudioContent{Data: sound, MIMEType: "audio/wav"}},
		"test_embedded_resource":      {embedded("test://embedded-resource", "This is an embedded resource content.")},
		"test_multiple_content_types": {words("Multiple content types test:"), image, embedded("test://mixed-content-resource", `{"test":"data"}`)},
	} {
		offer(s, name, func(context.Context, *sdk.CallToolRequest) (content, error) { return out, nil })
	}
	offer(s, "test_error_handling", func(context.Context, *sdk.CallToolRequest) (content, error) {
		return nil, errors.New("This tool intentionally returns an error for testing")
	})
	offerFor(s, "json_schema_2020_12_tool", json.RawMessage(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
		"additionalProperties": false
	}`), func(_ context.Context, req *sdk.CallToolRequest) (content, error) {
		return content{words("called with %s", req.Params.Arguments)}, nil
	})
}

// talkingTools say something to the client while they run.
func talkingTools(s *sdk.Server) {
	offer(s, "test_tool_with_logging", func(ctx context.Context, req *sdk.CallToolRequest) (content, error) {
		for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: line}); err != nil { //nolint:staticcheck // of the version that is tested
				return nil, err
			}
			pause(ctx, 50*time.Millisecond)
		}
		return content{words("Tool with logging executed successfully")}, nil
	})
	offer(s, "test_tool_with_progress", func(ctx context.Context, req *sdk.CallToolRequest) (content, error) {
		for _, n := range []float64{0, 50, 100} {
			if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: n, Total: 100}); err != nil {
				return nil, err
			}
			pause(ctx, 50*time.Millisecond)
		}
		return content{words("%v", req.Params.GetProgressToken())}, nil
	})
	offer(s, "test_sampling", func(ctx context.Context, req *sdk.CallToolRequest) (content, error) {
		res, err := req.Session.CreateMessage(
			ctx,
			&sdk.CreateMessageParams{ //nolint:staticcheck // of the version that is tested
				Messages: []*sdk.SamplingMessage{
					{Role: "user", Content: words("%s", argument(req, "prompt"))},
				}, //nolint:staticcheck // of the version that is tested
				MaxTokens: 100,
			},
		)
		if err != nil {
			return nil, err
		}
		text, _ := res.Content.(*sdk.TextContent)
		return content{words("LLM response: %v", text.Text)}, nil
	})
	offer(s, "test_reconnection", func(ctx context.Context, req *sdk.CallToolRequest) (content, error) {
		req.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		pause(ctx, 100*time.Millisecond)
		return content{words("Reconnection test completed successfully.")}, nil
	})
}

// pause lets time go by, as the suite asks of these tools.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func argument(req *sdk.CallToolRequest, name string) string {
	var all map[string]string
	_ = json.Unmarshal(req.Params.Arguments, &all)
	return all[name]
}

// formTools have the client's user fill in a form.
func formTools(s *sdk.Server) {
	for name, schema := range map[string]string{
		"test_elicitation": `{"type": "object", "properties": {
			"username": {"type": "string", "description": "User's response"}, "email": {"type": "string", "description": "User's email address"}
		}, "required": ["username", "email"]}`,
		"test_elicitation_sep1034_defaults": `{"type": "object", "properties": {
			"name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30}, "score": {"type": "number", "default": 95.5},
			"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}, "verified": {"type": "boolean", "default": true}
		}, "required": []}`,
		"test_elicitation_sep1330_enums": `{"type": "object", "properties": {
			"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
			"titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]},
			"legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
			"untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
			"titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First Choice"}, {"const": "value2", "title": "Second Choice"}, {"const": "value3", "title": "Third Choice"}]}}
		}, "required": []}`,
	} {
		offer(s, name, func(ctx context.Context, req *sdk.CallToolRequest) (content, error) {
			message := argument(req, "message")
			if message == "" {
				message = "Please review this"
			}
			res, err := req.Session.Elicit(
				ctx, &sdk.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)},
			)
			if err != nil {
				return nil, err
			}
			filled, err := json.Marshal(res.Content)
			return content{words("Elicitation completed: action=%s, content=%s", res.Action, filled)}, err
		})
	}
}

func fixedResources(s *sdk.Server) {
	reads := func(of func(uri string) *sdk.ResourceContents) sdk.ResourceHandler {
		return func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{of(req.Params.URI)}}, nil
		}
	}
	text := func(uri string) *sdk.ResourceContents {
		return &sdk.ResourceContents{
			URI:      uri,
			MIMEType: "text/plain",
			Text:     "This is the content of the static text resource.",
		}
	}
	s.AddResource(
		&sdk.Resource{Name: "static-text", Description: "Text", MIMEType: "text/plain", URI: "test://static-text"},
		reads(text),
	)
	s.AddResource(
		&sdk.Resource{Name: "watched", Description: "Watched", MIMEType: "text/plain", URI: "test://watched-resource"},
		reads(text),
	)
	s.AddResource(
		&sdk.Resource{
			Name:        "static-binary",
			Description: "A picture",
			MIMEType:    "image/png",
			URI:         "test://static-binary",
		},
		reads(func(uri string) *sdk.ResourceContents {
			return &sdk.ResourceContents{URI: uri, MIMEType: "image/png", Blob: picture}
		}),
	)
	s.AddResourceTemplate(
		&sdk.ResourceTemplate{
			Name:        "template",
			Description: "By id",
			MIMEType:    "application/json",
			URITemplate: "test://template/{id}/data",
		},
		reads(func(uri string) *sdk.ResourceContents {
			id := strings.TrimSuffix(strings.TrimPrefix(uri, "test://template/"), "/data")
			return &sdk.ResourceContents{
				URI:      uri,
				MIMEType: "application/json",
				Text:     fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id),
			}
		}),
	)
}

func fixedPrompts(s *sdk.Server) {
	add := func(name string, says func(map[string]string) content, arguments ...string) {
		p := &sdk.Prompt{Name: name, Description: "Tests " + name}
		for _, a := range arguments {
			p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: a, Description: a, Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			res := &sdk.GetPromptResult{}
			for _, c := range says(req.Params.Arguments) {
				res.Messages = append(res.Messages, &sdk.PromptMessage{Role: "user", Content: c})
			}
			return res, nil
		})
	}
	add(
		"test_simple_prompt",
		func(map[string]string) content { return content{words("This is a simple prompt for testing.")} },
	)
	add("test_prompt_with_arguments", func(a map[string]string) content {
		return content{words("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])}
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(a map[string]string) content {
		return content{
			embedded(a["resourceUri"], "Embedded resource content for testing."),
			words("Please process the embedded resource above."),
		}
	}, "resourceUri")
	add("test_prompt_with_image", func(map[string]string) content {
		return content{
			&sdk.ImageContent{Data: picture, MIMEType: "image/png"},
			words("Please analyze the image above."),
		}
	})
}
