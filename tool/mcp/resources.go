package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool"
)

// ResourcesName is the tool with which a model lists and reads the resources of servers.
const ResourcesName = "mcp_resources"

// maxResources bounds the listed resources and templates of a server.
const maxResources = 1000

// resources lists and reads the resources of servers.
type resources struct{ servers *Servers }

// resourceArgs are the arguments of a call.
type resourceArgs struct {
	Server string `json:"server"`
	URI    string `json:"uri"`
}

// Spec implements tool.Tool. It depends only on the offer (C21). It is the server's claim
// that a call changes nothing.
func (r *resources) Spec() tool.Spec { return r.servers.resourcesOf(r.servers.offer.readable) }

// resourcesOf returns the spec of the tool for the servers.
func (s *Servers) resourcesOf(names []string) tool.Spec {
	spec := tool.Spec{
		Name:        ResourcesName,
		Description: "List or read the resources of an MCP server (" + clip(strings.Join(names, ", "), 2<<10) + ").",
		Schema: json.RawMessage(`{"type":"object","properties":{"server":{"type":"string"},` +
			`"uri":{"type":"string","description":"the resource to read; without it, resources are listed"}},"required":["server"],"additionalProperties":false}`),
	}
	for _, name := range names {
		spec.Timeout = max(spec.Timeout, s.links[name].server.backstop())
	}
	return spec
}

// Title implements tool.Titler.
func (r *resources) Title(args json.RawMessage) string {
	var in resourceArgs
	if json.Unmarshal(args, &in) != nil {
		return ResourcesName
	}
	if in.URI == "" {
		return in.Server + ": list resources"
	}
	return in.Server + ": read " + in.URI
}

// Run implements tool.Tool.
func (r *resources) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	return r.servers.serveResources(ctx, call, call.Args)
}

// serveResources executes a call of the tool.
func (s *Servers) serveResources(ctx context.Context, call tool.Call, args json.RawMessage) (tool.Result, error) {
	var in resourceArgs
	if err := json.Unmarshal(args, &in); err != nil {
		return tool.Result{}, fmt.Errorf("cannot read the arguments: %w", err)
	}
	link := s.links[in.Server]
	if link == nil || !link.server.offers(ResourcesName) {
		return tool.Result{}, fmt.Errorf("there is no MCP server %q with resources", clip(in.Server, maxName))
	}
	return s.ask(ctx, link, call, func(ctx context.Context, c *client, call tool.Call) (*sdk.CallToolResult, error) {
		return c.within(ctx, call, func(ctx context.Context, token string) (*sdk.CallToolResult, error) {
			if in.URI == "" {
				return c.resources(ctx)
			}
			return c.read(ctx, in.URI, token)
		})
	})
}

// read requests a resource.
func (c *client) read(ctx context.Context, uri, token string) (*sdk.CallToolResult, error) {
	params := &sdk.ReadResourceParams{URI: uri}
	params.SetProgressToken(token)
	answer, err := c.session.ReadResource(ctx, params)
	if err != nil {
		return nil, err
	}
	out := &sdk.CallToolResult{}
	for _, contents := range answer.Contents {
		out.Content = append(out.Content, &sdk.EmbeddedResource{Resource: contents})
	}
	if len(out.Content) == 0 {
		out.Content = []sdk.Content{&sdk.TextContent{Text: "The resource is empty."}}
	}
	answer.Contents = nil // the protocol's implementation would keep the answer as long as the session
	return out, nil
}

// unkept prevents the cache of a resource's contents, which would keep them in memory.
func unkept(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, r)
		if answer, ok := result.(*sdk.ReadResourceResult); ok && answer != nil {
			answer.TTLMs = 0
		}
		return result, err
	}
}

// resources requests the list of resources.
func (c *client) resources(ctx context.Context) (*sdk.CallToolResult, error) {
	var b strings.Builder
	listed, err := eachPage(func(cursor string) (int, string, error) {
		page, err := c.session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return 0, "", err
		}
		for _, r := range page.Resources {
			if r != nil {
				resourceLine(&b, r.URI, r.Name, r.MIMEType, r.Description, r.Size)
			}
		}
		return len(page.Resources), page.NextCursor, nil
	})
	if err != nil {
		return nil, err
	}
	if listed == 0 {
		b.WriteString("The server lists no resources.\n")
	}
	head := "Templates of more, to be filled in (RFC 6570):\n"
	if _, err = eachPage(func(cursor string) (int, string, error) {
		page, err := c.session.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return 0, "", err
		}
		for _, r := range page.ResourceTemplates {
			if r != nil {
				b.WriteString(head)
				head = ""
				resourceLine(&b, r.URITemplate, r.Name, r.MIMEType, r.Description, 0)
			}
		}
		return len(page.ResourceTemplates), page.NextCursor, nil
	}); err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.TrimSpace(b.String())}}}, nil
}

// eachPage reads the pages of a list, within limits. A list that the server does not have
// is empty.
func eachPage(next func(cursor string) (entries int, after string, err error)) (total int, err error) {
	for cursor, n := "", 0; n < maxResources && total < maxResources; n++ {
		entries, after, err := next(cursor)
		if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok && refusal.Code == jsonrpc.CodeMethodNotFound {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		if total += entries; after == "" || after == cursor {
			return total, nil
		}
		cursor = after
	}
	return total, nil
}

func resourceLine(b *strings.Builder, uri, name, mediaType, about string, size int64) {
	b.WriteString(terminal.OneLine(uri))
	length := ""
	if size > 0 {
		length = fmt.Sprintf("%d bytes", size)
	}
	if about = joined("", terminal.Short(name, 100), terminal.OneLine(mediaType), length,
		terminal.Short(about, 200)); about != "" {
		b.WriteString(" (" + about + ")")
	}
	b.WriteByte('\n')
}
