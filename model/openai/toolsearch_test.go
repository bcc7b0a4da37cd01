//go:build !fuzzing

package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3/responses"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/transport"
)

// Items as in the recordings of the API (packages/openai of github.com/vercel/ai,
// openai-tool-search.1), with the tool in a namespace.
const (
	searchCall   = `{"id":"tsc_1","type":"tool_search_call","status":"completed","arguments":{"paths":["met"]},"call_id":null,"execution":"server"}`
	searchOutput = `{"id":"tso_1","type":"tool_search_output","status":"completed","call_id":null,"execution":"server","tools":[{"type":"namespace","name":"met","description":"Tools of met: weather, tides","tools":[` +
		`{"type":"function","name":"met__weather","description":"Forecasts.","strict":false,"parameters":{"type":"object","properties":{}},"defer_loading":true}]}]}`
)

// searched is a conversation in which the API found a tool.
func searched() model.Request {
	object := json.RawMessage(`{"type":"object","properties":{}}`)
	opaque := func(item string) model.Item {
		return model.Item{Role: model.Reasoning, Signature: &model.ProviderSignature{Format: "item", Data: item}}
	}
	return model.Request{
		Model: "gpt-6.1-sol", System: "You are settle.",
		Tools: []model.ToolSpec{
			{Name: "met__weather", Description: "Forecasts.", Schema: object, Deferred: "met"},
			{Name: "shell", Description: "Runs.", Schema: object},
			{Name: "crm__find", Description: "Finds.", Schema: object, Deferred: "crm"},
			{Name: "met__tides", Description: "Tides.", Schema: object, Deferred: "met"},
		},
		Input: []model.Item{
			{Role: model.User, Text: "Will it rain?"},
			{Role: model.Reasoning, ID: "rs_1", Signature: &model.ProviderSignature{Format: "encrypted", Data: "gAAA"}},
			opaque(searchCall), opaque(searchOutput),
			{
				Role:      model.Call,
				CallID:    "call_1",
				Name:      "met__weather",
				Arguments: `{}`,
				Signature: &model.ProviderSignature{Format: "members", Data: `{"namespace":"met"}`},
			},
			{Role: model.Output, CallID: "call_1", Name: "met__weather", Text: "no"},
			{Role: model.Call, CallID: "call_2", Name: "crm__find", Arguments: `{}`}, // of another model
			{Role: model.Output, CallID: "call_2", Name: "crm__find", Text: "nobody"},
			{Role: model.Call, CallID: "call_3", Name: "shell", Arguments: `{}`},
			{Role: model.Output, CallID: "call_3", Name: "shell", Text: "ok"},
		},
	}
}

func TestDeferredTools(t *testing.T) {
	body := sent(t, searched(), transport.Endpoint{}).Body
	known := bytes.ReplaceAll(body, []byte(`"call_id":null,`), nil) // which the SDK keeps, and the comparison does not
	if diff, err := wiretest.RoundTrip(known, new(responses.ResponseNewParams), "stream"); diff != "" || err != nil {
		t.Errorf("error %v (-SDK +sent):\n%s", err, diff)
	}
	type tool struct {
		Type, Name, Description string
		Defer                   bool `json:"defer_loading"`
		Tools                   []tool
	}
	var got struct {
		Tools []tool
		Input []json.RawMessage
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	want := "[{function shell Runs. false []} " +
		"{namespace met Tools of met: weather, tides false [{function met__weather Forecasts. true []} {function met__tides Tides. true []}]} " +
		"{namespace crm Tools of crm: find false [{function crm__find Finds. true []}]} {tool_search   false []}]"
	if said := fmt.Sprint(got.Tools); said != want {
		t.Errorf("got  %s\nwant %s", said, want)
	}
	if string(got.Input[2]) != searchCall || string(got.Input[3]) != searchOutput {
		t.Errorf("the search goes back as %s and %s", got.Input[2], got.Input[3])
	}
	for n, space := range map[int]string{4: "met", 6: "crm", 8: ""} {
		var call struct{ Name, Namespace string }
		if err := json.Unmarshal(got.Input[n], &call); err != nil || call.Namespace != space ||
			strings.Count(string(got.Input[n]), "namespace") > 1 {
			t.Errorf("%v: call %s", err, got.Input[n])
		}
	}
}

// A search whose tools are others goes back no more, nor the reasoning before it.
func TestStaleSearch(t *testing.T) {
	for name, change := range map[string]func(*model.Request){
		"the tool is gone":    func(r *model.Request) { r.Tools = r.Tools[1:] },
		"nothing is deferred": func(r *model.Request) { r.Tools = r.Tools[1:2] },
		"no call":             func(r *model.Request) { r.Input = slices.Delete(r.Input, 2, 3) },
		"no output":           func(r *model.Request) { r.Input = slices.Delete(r.Input, 3, 4) },
		"cut after the call": func(r *model.Request) {
			r.Input = append([]model.Item{r.Input[4], r.Input[5]}, r.Input[1], r.Input[2])
		},
	} {
		req := searched()
		change(&req)
		body := string(sent(t, req, transport.Endpoint{}).Body)
		if strings.Contains(body, "tool_search_call") || strings.Contains(body, "tool_search_output") ||
			strings.Contains(body, "rs_1") {
			t.Errorf("%s: %s", name, body)
		}
	}
}

func TestManyInANamespace(t *testing.T) {
	var req model.Request
	for n := range 200 {
		req.Tools = append(
			req.Tools,
			model.ToolSpec{
				Name:     fmt.Sprintf("met__tool_%d", n),
				Schema:   json.RawMessage(`{"type":"object"}`),
				Deferred: "met",
			},
		)
	}
	req.Model, req.Input = "gpt-6.1-sol", []model.Item{{Role: model.User, Text: "hi"}}
	var got struct {
		Tools []struct {
			Description string
			Tools       []json.RawMessage
		}
	}
	if err := json.Unmarshal(sent(t, req, transport.Endpoint{}).Body, &got); err != nil {
		t.Fatal(err)
	}
	if met := got.Tools[0]; len(met.Tools) != 200 || len(met.Description) > 450 ||
		!strings.HasSuffix(met.Description, ", …") ||
		strings.Count(met.Description, "…") != 1 {
		t.Errorf("%d tools, %q", len(met.Tools), met.Description)
	}
}

func TestSearchIsKept(t *testing.T) {
	body := wiretest.SSE(
		`{"type":"response.created","response":{"id":"resp_1"}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"tsc_1","type":"tool_search_call","status":"in_progress","arguments":{},"call_id":null,"execution":"server"}}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+searchCall+`}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"id":"tso_1","type":"tool_search_output","status":"in_progress","call_id":null,"execution":"server","tools":[]}}`,
		`{"type":"response.output_item.done","output_index":1,"item":`+searchOutput+`}`,
		`{"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","arguments":"","call_id":"call_1","name":"met__weather","namespace":"met"}}`,
		`{"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","arguments":"{}","call_id":"call_1","name":"met__weather","namespace":"met"}}`,
		// A search that the client would have to make: settle did not request it.
		`{"type":"response.output_item.done","output_index":3,"item":{"id":"tsc_2","type":"tool_search_call","status":"completed","arguments":{},"call_id":"call_2","execution":"client"}}`,
		`{"type":"response.completed","response":{"id":"resp_1"}}`,
	)
	server := &wiretest.Server{Body: body}
	p := openai.New(openai.Options{Endpoint: transport.Endpoint{Client: server.Client()}})
	got, err := wiretest.Read(t.Context(), p, searched())
	if err != nil || got.Err != nil || len(got.Items) != 3 || got.Stop != model.StopToolUse {
		t.Fatalf("%v: %+v", err, got)
	}
	if got.Items[0].Signature.Data != searchCall || got.Items[1].Signature.Data != searchOutput ||
		got.Items[2].Signature.Data != `{"namespace":"met"}` {
		t.Errorf("kept as %+v", got.Items)
	}
}

// TestSearchesTools: servers that only resemble the API are assumed not to have the search.
func TestSearchesTools(t *testing.T) {
	own := openai.New(openai.Options{})
	gateway := openai.New(openai.Options{Endpoint: transport.Endpoint{BaseURL: "https://gateway.test/v1"}})
	if !own.Model("gpt-5.4").ToolSearch || own.Model("gpt-5.2").ToolSearch || gateway.Model("gpt-5.4").ToolSearch {
		t.Error("the wrong models search tools")
	}
}
