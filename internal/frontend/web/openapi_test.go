package web_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// document is the description, as a client reads it.
type document struct {
	OpenAPI    string                          `json:"openapi"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]*jsonschema.Schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	OperationID string `json:"operationId"`
	Parameters  []struct{ In, Name string }
	RequestBody *struct{ Content content } `json:"requestBody"`
	Responses   map[string]struct{ Content content }
}

type content map[string]struct{ Schema *jsonschema.Schema }

func (b *harness) describe() (d document) {
	b.Helper()
	a, err := b.try("GET", "/api/openapi.json", nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := json.Unmarshal(a.body, &d); err != nil {
		b.Fatalf("%v: %s", err, a.body)
	}
	return d
}

// find returns the operation for a request.
func (d document) find(method, path string) (operation, bool) {
	path, _, _ = strings.Cut(path, "?")
	for template, operations := range d.Paths {
		pattern := "^" + regexp.MustCompile(`{\w+}`).ReplaceAllString(template, "[^/]+") + "$"
		if regexp.MustCompile(pattern).MatchString(path) {
			o, ok := operations[strings.ToLower(method)]
			return o, ok
		}
	}
	return operation{}, false
}

// check reports the undescribed parts of a response.
func (d document) check(method, path string, a answer) error {
	o, ok := d.find(method, path)
	if !ok {
		if a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed {
			return nil
		}
		return fmt.Errorf("it is not described, and answered with %d", a.status)
	}
	described, ok := o.Responses[strconv.Itoa(a.status)]
	if !ok {
		return fmt.Errorf("status %d is not described", a.status)
	}
	if len(described.Content) == 0 {
		if len(a.body) > 0 {
			return fmt.Errorf("a body is not described")
		}
		return nil
	}
	media := a.header.Get("Content-Type")
	as, ok := described.Content[media]
	if !ok {
		return fmt.Errorf("media type %q is not described", media)
	}
	if !strings.HasSuffix(media, "json") {
		return nil
	}
	return d.validate(as.Schema, a.body)
}

func (d document) validate(schema *jsonschema.Schema, body []byte) error {
	if name, ok := strings.CutPrefix(schema.Ref, "#/components/schemas/"); ok {
		if schema = d.Components.Schemas[name]; schema == nil {
			return fmt.Errorf("there is no schema %q", name)
		}
	}
	resolved, err := schema.CloneSchemas().Resolve(nil)
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	return resolved.Validate(v)
}

// The description has the API, all of it and nothing else.
func TestDescription(t *testing.T) {
	b := serve(t, setup{})
	var described []string
	for path, operations := range b.api.Paths {
		for method := range operations {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(described)
	b.diff("operations", []string{
		"DELETE /api/sessions/{id}", "DELETE /api/sessions/{id}/inputs/{input}", "DELETE /api/sessions/{id}/log",
		"GET /api/files", "GET /api/openapi.json", "GET /api/plugins", "GET /api/sessions", "GET /api/sessions/{id}", "GET /api/sessions/{id}/events", "GET /api/sessions/{id}/export",
		"GET /api/sessions/{id}/rewind", "GET /api/sessions/{id}/settings", "GET /api/settings", "GET /metrics",
		"POST /api/sessions", "POST /api/sessions/{id}/approvals/{approval}", "POST /api/sessions/{id}/calls/{item}/cancel",
		"POST /api/sessions/{id}/fork", "POST /api/sessions/{id}/inputs", "POST /api/sessions/{id}/interrupt", "POST /api/sessions/{id}/jobs/{job}/kill",
		"POST /api/sessions/{id}/name", "POST /api/sessions/{id}/rewind", "POST /api/sessions/{id}/settings",
	}, described)
	names := map[string]bool{}
	for path, operations := range b.api.Paths {
		filled := regexp.MustCompile(`{\w+}`).ReplaceAllString(path, "nothing")
		for _, method := range []string{"GET", "POST", "DELETE"} {
			o, isDescribed := operations[strings.ToLower(method)]
			a := b.send(method, filled, nil)
			if served := a.status != http.StatusMethodNotAllowed && !strings.Contains(string(a.body), "urn:settle:problem:path"); served != isDescribed {
				t.Errorf("%s %s: described is %t, but the answer is %d %s", method, path, isDescribed, a.status, a.body)
			}
			if isDescribed && (o.OperationID == "" || names[o.OperationID]) {
				t.Errorf("%s %s has no name of its own: %q", method, path, o.OperationID)
			}
			names[o.OperationID] = true
			var inPath []string
			for _, p := range o.Parameters {
				if p.In == "path" {
					inPath = append(inPath, "{"+p.Name+"}")
				}
			}
			if want := regexp.MustCompile(`{\w+}`).FindAllString(path, -1); isDescribed && !slices.Equal(want, inPath) {
				t.Errorf("%s %s has the parameters %v", method, path, inPath)
			}
		}
	}
	for name, schema := range b.api.Components.Schemas {
		if _, err := schema.Resolve(nil); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
	if b.api.OpenAPI != "3.1.0" {
		t.Errorf("it is OpenAPI %s", b.api.OpenAPI)
	}
}

// TestDescribedBodies: the server accepts the bodies that a schema allows, and refuses all others.
func TestDescribedBodies(t *testing.T) {
	b := serve(t, setup{})
	session := b.session("s")
	paths := map[string]string{
		"sendInput": session + "/inputs", "interrupt": session + "/interrupt",
		"answerApproval": session + "/approvals/p000001", "openSession": "/api/sessions", "renameSession": session + "/name",
		"changeSettings": session + "/settings", "rewindSession": session + "/rewind",
	}
	bodies := []string{
		`{"text":"a"}`, `{"text":"a","mode":"steer"}`, `{"text":"a","mode":"later"}`, `{"text":1}`, `{"text":"a","more":1}`, `{"hurry":true}`,
		`{"hurry":"yes"}`, `{"input":"x","hurry":false}`, `{"verdict":"approved"}`, `{"verdict":"maybe"}`, `{"verdict":"denied","message":"no"}`,
		`{"id":"other"}`, `{"id":7}`, `[]`, `"text"`, `{"text":"a","images":[{"media_type":"image/png","data":"iVBORw0KGgo="}]}`,
		`{"text":"a","images":[{"media_type":"image/tiff","data":"QUJD"}]}`, `{"images":{}}`, `{"name":"n"}`, `{"name":1}`,
		`{"effort":"low"}`, `{"effort":1}`, `{"model":7}`, `{"keep_files":true}`, `{"keep_files":1}`,
	}
	found := map[string]bool{}
	for _, operations := range b.api.Paths {
		for _, o := range operations {
			path := paths[o.OperationID]
			if o.RequestBody == nil {
				continue
			}
			found[o.OperationID] = true
			for _, body := range bodies {
				allowed := b.api.validate(o.RequestBody.Content["application/json"].Schema, []byte(body)) == nil
				if o.OperationID == "interrupt" && strings.Contains(body, `"x"`) {
					continue // it would wait for the input
				}
				if a := b.send("POST", path, body); allowed != (a.status != http.StatusBadRequest) {
					t.Errorf(
						"%s with %s: by the schema it is %t, but the answer is %d %s", o.OperationID, body, allowed,
						a.status, a.body,
					)
				}
			}
		}
	}
	b.diff("operations with bodies", slices.Sorted(maps.Keys(paths)), slices.Sorted(maps.Keys(found)))
}
