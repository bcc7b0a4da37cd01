package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// maxDescribed bounds the description of the tools of a namespace, in bytes.
const maxDescribed = 400

// tools returns the tools that the model sees, then the tools that it must search, as
// namespaces: the model sees only the name and description of a namespace, and of a
// deferred tool outside of any namespace
// (developers.openai.com/api/docs/guides/tools-tool-search). Tools keep their whole names.
func tools(specs []model.ToolSpec, custom map[string]string) []*tool {
	var list, spaces []*tool
	named := map[string]*tool{}
	for i := range specs {
		declared, group := newTool(&specs[i], custom), specs[i].Deferred
		if group == "" {
			list = append(list, declared)
			continue
		}
		space := named[group]
		if space == nil {
			space = &tool{Type: "namespace", Name: group}
			named[group], spaces = space, append(spaces, space)
		}
		declared.Defer = true
		space.Tools = append(space.Tools, declared)
		space.describe(strings.TrimPrefix(declared.Name, group+"__"))
	}
	if len(spaces) == 0 {
		return list
	}
	return append(append(list, spaces...), &tool{Type: "tool_search"})
}

// describe adds the name of a tool to a namespace's description.
func (t *tool) describe(name string) {
	switch {
	case t.Description == "":
		t.Description = "Tools of " + t.Name + ": " + name
	case len(t.Description)+len(name) < maxDescribed:
		t.Description += ", " + name
	case !strings.HasSuffix(t.Description, "…"):
		t.Description += ", …"
	}
}

// nameSpaces gives each call of a deferred tool its namespace, if the API has not
// attached it: other models make calls without, and where the tool is deferred, that is
// refused ("Missing namespace for function_call").
func (r *request) nameSpaces(specs []model.ToolSpec) {
	spaces := map[string]string{}
	for i := range specs {
		spaces[specs[i].Name] = specs[i].Deferred
	}
	for n := range r.Input {
		if it := &r.Input[n]; it.Type == "function_call" && !bytes.Contains(it.members, []byte(`"namespace":`)) {
			it.Namespace = spaces[it.Name]
		}
	}
}

// stale returns the indexes of the items about tool searches that the request leaves out: searches
// whose results the request no longer defers, searches that were cut, and the reasoning right
// before them, which the API refuses without the search.
func stale(items []model.Item, specs []model.ToolSpec) map[int]bool {
	var out map[int]bool
	for n := 0; n < len(items); n++ {
		kind, _ := searchOf(&items[n])
		if kind == "" {
			continue
		}
		if kind == "tool_search_call" && n+1 < len(items) {
			if next, found := searchOf(&items[n+1]); next == "tool_search_output" && defers(specs, found) {
				n++
				continue
			}
		}
		if out == nil {
			out = map[int]bool{}
		}
		for before := n; before >= 0 && items[before].Role == model.Reasoning; before-- {
			out[before] = true
		}
	}
	return out
}

// searchOf returns the type of an item about a search for tools, and the names of the tools and
// namespaces that were found; "" for other items.
func searchOf(it *model.Item) (kind string, found []string) {
	if it.Role != model.Reasoning || it.Signature == nil || it.Signature.Format != event.SignatureItem ||
		!strings.Contains(it.Signature.Data, `"tool_search_`) {
		return "", nil
	}
	type named struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	var item struct {
		Type  string `json:"type"`
		Tools []struct {
			named
			Tools []named `json:"tools"`
		} `json:"tools"`
	}
	if json.Unmarshal([]byte(it.Signature.Data), &item) != nil || !strings.HasPrefix(item.Type, "tool_search_") {
		return "", nil
	}
	for _, t := range item.Tools {
		if t.Type != "namespace" {
			found = append(found, t.Name)
		}
		for _, inner := range t.Tools {
			found = append(found, inner.Name)
		}
	}
	return item.Type, found
}

// defers reports whether the request has all of the tools as deferred ones, and any.
func defers(specs []model.ToolSpec, names []string) bool {
	deferred := map[string]bool{}
	for i := range specs {
		if specs[i].Deferred != "" {
			deferred[specs[i].Name] = true
		}
	}
	for _, name := range names {
		if !deferred[name] {
			return false
		}
	}
	return len(deferred) > 0
}
