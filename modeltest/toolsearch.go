package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// The providers' own tool search: the model does not read a deferred tool until the
// search has found it.

// offeredTool is a tool of a request, as far as the search wants to know it.
type offeredTool struct {
	Type  string            `json:"type"`
	Name  string            `json:"name"`
	Text  string            `json:"description,omitempty"`
	Defer bool              `json:"defer_loading,omitempty"`
	Tools []json.RawMessage `json:"tools,omitempty"` // of a namespace
}

// offeredAs reads a tool. It leaves out a tool that it cannot read.
func offeredAs(raw json.RawMessage) *offeredTool {
	t := new(offeredTool)
	_ = json.Unmarshal(raw, t)
	return t
}

// visible returns the part of a tool that the model reads before any search: for OpenAI's
// namespaces and deferred functions, the name and the description
// (developers.openai.com/api/docs/guides/tools-tool-search).
func visible(raw json.RawMessage) json.RawMessage {
	t := offeredAs(raw)
	if t.Type != "namespace" && !t.Defer {
		return raw
	}
	all := t.Tools
	t.Tools = nil
	for _, inner := range all {
		if !offeredAs(inner).Defer {
			t.Tools = append(t.Tools, inner)
		}
	}
	return encode(t)
}

// loaded returns the body of a request without the parts of its tools that the model does not read.
func loaded(body []byte) []byte {
	var o map[string]json.RawMessage
	if !bytes.Contains(body, []byte(`"defer_loading":true`)) || json.Unmarshal(body, &o) != nil {
		return body
	}
	all, _ := list(o["tools"])
	for i, raw := range all {
		all[i] = visible(raw)
	}
	o["tools"] = encode(all)
	return encode(o)
}

// found is the content of a tool_search_tool_result.
type found struct {
	References []struct {
		Name string `json:"tool_name"`
	} `json:"tool_references"`
}

// The types of the items of a search.
const (
	searchCall   = "call"
	searchOutput = "output"
)

// deferredTool is a deferred tool of a request, with its namespace. As in recordings, a function
// outside of any namespace has one of its own.
type deferredTool struct {
	namespace string
	found     json.RawMessage // as the search gives it
}

// search reads the tools of the request, and makes two items of each search: they are
// two blocks, and two output items.
func (r *rendering) search(tools []json.RawMessage) {
	r.deferred, r.searches = map[string]*deferredTool{}, map[int]string{}
	for _, raw := range tools {
		t := offeredAs(raw)
		if t.Defer {
			r.deferred[t.Name] = &deferredTool{t.Name, raw}
		}
		for _, inner := range t.Tools {
			if name := offeredAs(inner); name.Defer {
				t.Tools = []json.RawMessage{inner}
				r.deferred[name.Name] = &deferredTool{t.Name, encode(t)}
			}
		}
	}
	searches := len(r.deferred) > 0 && (r.dialect == Messages || r.dialect == Responses)
	var items []Item
	for i := range r.Items {
		times := 1
		if len(r.Items[i].Finds) > 0 {
			if times = 0; searches {
				times, r.searches[len(items)], r.searches[len(items)+1] = 2, searchCall, searchOutput
			}
		}
		for range times {
			items = append(items, r.Items[i])
		}
	}
	r.Items = items
}

// written is a JSON object that the format writes.
func written(format string, args ...any) object {
	var o object
	_ = json.Unmarshal(fmt.Appendf(nil, format, args...), &o)
	return o
}

// messagesSearch is a block of a search, as of
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool.
func (r *rendering) messagesSearch(i int) (block object, delta, field, text string) {
	names, use := r.Items[i].Finds, i
	if r.searches[i] == searchOutput {
		use--
	}
	id := r.id("srvtoolu_", use)
	if use == i {
		return written(`{"type":"server_tool_use","id":%q,"name":"tool_search_tool_bm25","input":{}}`, id),
			"input_json_delta", "partial_json", string(encode(object{"query": names}))
	}
	found := strings.Join(names, `"},{"type":"tool_reference","tool_name":"`)
	return written(
		`{"type":"tool_search_tool_result","tool_use_id":%q,"content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"%s"}]}}`,
		id,
		found,
	), "", "", ""
}

// responsesSearch sends an item of a search, as of
// https://developers.openai.com/api/docs/guides/tools-tool-search.
func (s *stream) responsesSearch(i int) (object, bool) {
	what, field, value := s.searches[i], `"arguments"`, encode(object{"paths": s.Items[i].Finds})
	if what == searchOutput {
		found := []json.RawMessage{}
		for _, name := range s.Items[i].Finds {
			if t := s.deferred[name]; t != nil {
				found = append(found, t.found)
			}
		}
		field, value = `"tools"`, encode(found)
	}
	item := func(status string) object {
		return written(
			`{"id":%q,"type":"tool_search_%s","status":%q,"call_id":null,"execution":"server",%s:%s}`,
			s.searchID(i),
			what,
			status,
			field,
			value,
		)
	}
	end := item("completed")
	return end, s.added(i, item("in_progress")) && s.done(i, 0, end)
}

func (r *rendering) searchID(i int) string {
	prefix := "tsc_"
	if r.searches[i] == searchOutput {
		prefix = "tso_"
	}
	return r.id(prefix, i)
}
