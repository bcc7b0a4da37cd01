package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/store"
)

// object is a JSON object of the description.
type object = map[string]any

// describe returns the OpenAPI 3.1 description of the routes. Its schemas are
// made of the types that are decoded and encoded.
func describe(routes []route, version string) ([]byte, error) {
	schemas := object{}
	for _, r := range append(routes, route{answer: problem{}}) {
		for _, v := range []any{r.body, r.answer} {
			if v == nil {
				continue
			}
			schema, err := schemaOf(v)
			if err != nil {
				return nil, fmt.Errorf("cannot describe the API: %s: %w", nameOf(v), err)
			}
			schemas[nameOf(v)] = schema
		}
	}
	paths := map[string]object{}
	for _, r := range routes {
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path][strings.ToLower(r.method)] = r.operation()
	}
	document := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "settle", "version": version,
			"description": "Sessions of a coding agent. All errors are application/problem+json.",
		},
		"paths": paths,
		"components": object{
			"schemas": schemas,
			"securitySchemes": object{
				"bearer": object{
					"type":        "http",
					"scheme":      "bearer",
					"description": "the token that \"settle serve\" printed",
				},
			},
		},
		"security": []object{{"bearer": []string{}}},
	}
	return json.Marshal(document)
}

func (s *Server) description(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.openAPI) // a client that is gone misses nothing
	return nil
}

func nameOf(v any) string { return reflect.TypeOf(v).Name() }

func reference(v any) object { return object{"$ref": "#/components/schemas/" + nameOf(v)} }

// schemaOf makes the schema of a type. Answers may get further fields later,
// requests may not have others.
func schemaOf(v any) (*jsonschema.Schema, error) {
	words := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[store.State](): oneOf(
			[]store.State{store.Idle, store.Running, store.Waiting, store.Closed},
		),
		reflect.TypeFor[event.Mode]():      oneOf(modes()),
		reflect.TypeFor[mediaType]():       oneOf(mediaTypes()),
		reflect.TypeFor[event.Outcome]():   oneOf([]event.Outcome{event.Completed, event.Aborted, event.Failed}),
		reflect.TypeFor[event.Verdict]():   oneOf(append(verdicts(), event.Expired)),
		reflect.TypeFor[event.Reason]():    {Type: "string"},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[json.RawMessage](): {},
	}
	schema, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{TypeSchemas: words})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(routes(), func(r route) bool { return r.body != nil && nameOf(r.body) == nameOf(v) }) {
		loosen(schema)
	}
	return schema, nil
}

func oneOf[T ~string](words []T) *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: "string"}
	for _, w := range words {
		schema.Enum = append(schema.Enum, string(w))
	}
	return schema
}

// loosen lets objects have fields that are not described.
func loosen(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.AdditionalProperties = nil
	loosen(s.Items)
	for _, p := range s.Properties {
		loosen(p)
	}
}

func (r route) operation() object {
	o := object{"operationId": r.name, "summary": r.summary, "responses": r.responses()}
	if r.body != nil {
		o["requestBody"] = object{
			"required": r.must,
			"content":  object{"application/json": object{"schema": reference(r.body)}},
		}
	}
	if parameters := r.parameters(); len(parameters) > 0 {
		o["parameters"] = parameters
	}
	return o
}

func (r route) responses() object {
	answer := object{"description": http.StatusText(r.status)}
	switch {
	case r.answer != nil:
		answer["content"] = object{"application/json": object{"schema": reference(r.answer)}}
	case r.media == "application/json":
		answer["content"] = object{r.media: object{"schema": object{"type": "object"}}}
	case r.media != "":
		answer["content"] = object{r.media: object{"schema": object{"type": "string"}}}
	}
	all := object{strconv.Itoa(r.status): answer}
	refused := []int{401, 403, 421, 429, 500, 503, 504}
	if r.body != nil {
		refused = append(refused, 400, 413, 415)
	}
	for _, status := range append(refused, r.problems...) {
		all[strconv.Itoa(status)] = object{
			"description": http.StatusText(status),
			"content":     object{"application/problem+json": object{"schema": reference(problem{})}},
		}
	}
	return all
}

func (r route) parameters() []object {
	var all []object
	add := func(in, name, description, kind string) {
		all = append(
			all,
			object{
				"in":          in,
				"name":        name,
				"required":    in == "path",
				"description": description,
				"schema":      object{"type": kind},
			},
		)
	}
	for _, match := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(r.path, -1) {
		what := "id of the " + match[1]
		if match[1] == "id" {
			what = "id of the session"
		}
		add("path", match[1], what, "string")
	}
	for name, description := range r.query {
		kind := "integer"
		if name == "match" || name == "input" {
			kind = "string"
		}
		add("query", name, description, kind)
	}
	for name, description := range r.headers {
		add("header", name, description, "string")
	}
	return all
}
