package lsp

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
)

// severityError is the severity of an error.
const severityError = 1

// position is a place in a text: line and UTF-16 unit, from 0.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// location is a range in a file. Servers can send a link in its place.
type location struct {
	URI   string    `json:"uri"`
	Range textRange `json:"range"`

	TargetURI   string    `json:"targetUri,omitempty"`
	TargetRange textRange `json:"targetSelectionRange,omitzero"`
}

func (l location) resolved() location {
	if l.URI == "" {
		return location{URI: l.TargetURI, Range: l.TargetRange}
	}
	return l
}

// diagnostic is a finding of a server.
type diagnostic struct {
	Range    textRange `json:"range"`
	Severity int       `json:"severity"`
	Message  string    `json:"message"`
}

// publication are the findings of a server for one file.
type publication struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

// symbol is a symbol of a file, or of the project.
type symbol struct {
	Name      string    `json:"name"`
	Kind      int       `json:"kind"`
	Container string    `json:"containerName"`
	Selection textRange `json:"selectionRange"`
	Location  location  `json:"location"`
	Children  []symbol  `json:"children"`
}

// kindName names the protocol's kinds of symbols.
func kindName(kind int) string {
	names := [...]string{
		1: "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
		"interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key",
		"null", "enum member", "struct", "event", "operator", "type parameter",
	}
	if kind < 1 || kind >= len(names) {
		return "symbol"
	}
	return names[kind]
}

// uriOf returns the URI of an absolute path.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// pathOf returns the path of a URI; "" if it is not a file.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" {
		return ""
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // a drive
		path = path[1:]
	}
	return filepath.FromSlash(path)
}

// initializeParams are the parameters of the first request. They name no parent process: a
// server in a sandbox cannot see it and would exit, and its supervisor ends it anyway.
func initializeParams(dir, version string, options map[string]any) any {
	object := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i+1 < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	folder := object("uri", uriOf(dir), "name", filepath.Base(dir))
	return object(
		"processId", nil, "clientInfo", object("name", "settle", "version", version), "rootUri", uriOf(dir),
		"workspaceFolders", []any{folder}, "initializationOptions", options,
		"capabilities", object(
			"general", object("positionEncodings", []string{"utf-16"}),
			"textDocument", object(
				"synchronization", object("didSave", true),
				"publishDiagnostics", object("versionSupport", true),
				"documentSymbol", object("hierarchicalDocumentSymbolSupport", true),
				"definition", object("linkSupport", true),
			),
			"workspace", object(
				"configuration", true, "workspaceFolders", true,
				"didChangeWatchedFiles", object("dynamicRegistration", true),
			),
		),
	)
}

// locations reads the answer to a request for places: one, a list, links or null.
func locations(raw json.RawMessage) (list []location) {
	if json.Unmarshal(raw, &list) != nil {
		var one location
		if json.Unmarshal(raw, &one) == nil {
			list = []location{one}
		}
	}
	for i, l := range list {
		list[i] = l.resolved()
	}
	return list
}
