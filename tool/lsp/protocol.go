package lsp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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

// progress reports that a server begins, continues or ends some work.
type progress struct {
	Token json.RawMessage `json:"token"`
	Value struct {
		Kind  string `json:"kind"` // "begin", "report" or "end"
		Title string `json:"title"`
	} `json:"value"`
}

// symbol is a symbol of a file, or of the project.
type symbol struct {
	Name      string    `json:"name"`
	Kind      int       `json:"kind"`
	Container string    `json:"containerName"`
	Selection textRange `json:"selectionRange"`
	Location  location  `json:"location"`

	RawChildren json.RawMessage `json:"children"`
	children    []symbol
}

const (
	// maxRead bounds the symbols of an answer that are read, and maxDepth their nesting.
	maxRead  = 20_000
	maxDepth = 8
)

// symbols reads an answer with symbols: a list or null. An answer of a few MB can have a
// million of them.
func symbols(raw json.RawMessage) (list []symbol, err error) {
	left := maxRead
	return symbolsWithin(raw, &left, 0)
}

func symbolsWithin(raw json.RawMessage, left *int, depth int) (list []symbol, err error) {
	for one, err := range elements(raw) {
		if err != nil {
			return nil, err
		}
		if *left--; *left < 0 {
			return nil, fmt.Errorf("it sent more than %d symbols", maxRead)
		}
		var s symbol
		if err := json.Unmarshal(one, &s); err != nil {
			return nil, fmt.Errorf("cannot read a symbol: %w", err)
		}
		if depth < maxDepth {
			if s.children, err = symbolsWithin(s.RawChildren, left, depth+1); err != nil {
				return nil, err
			}
		}
		s.RawChildren = nil
		list = append(list, s)
	}
	return list, nil
}

// elements yields the elements of a list one after the other; null has none.
func elements(raw json.RawMessage) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if len(raw) == 0 || string(raw) == "null" {
			return
		}
		in := json.NewDecoder(bytes.NewReader(raw))
		if open, err := in.Token(); err != nil || open != json.Delim('[') {
			yield(nil, errors.New("cannot read the server's answer: it is no list"))
			return
		}
		for in.More() {
			var one json.RawMessage
			if err := in.Decode(&one); err != nil {
				yield(nil, fmt.Errorf("cannot read the server's answer: %w", err))
				return
			}
			if !yield(one, nil) {
				return
			}
		}
	}
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

// pathOf returns the path of a URI; "" if it is not a file, or longer than any path.
func pathOf(uri string) string {
	if len(uri) > maxURI {
		return ""
	}
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
			"window", object("workDoneProgress", true),
		),
	)
}

// locations reads the answer to a request for places: one, a list, links or null. The list
// has at most maxPlaces; n is the number of all.
func locations(raw json.RawMessage) (list []location, n int) {
	var one location
	if bytes.HasPrefix(raw, []byte("{")) {
		if json.Unmarshal(raw, &one) != nil {
			return nil, 0
		}
		return []location{one.resolved()}, 1
	}
	for raw, err := range elements(raw) {
		if err != nil {
			break
		}
		if n++; n > maxPlaces {
			continue
		}
		one = location{}
		if json.Unmarshal(raw, &one) == nil {
			list = append(list, one.resolved())
		}
	}
	return list, n
}
