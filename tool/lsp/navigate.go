package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool"
)

// Name is the name of the tool for definitions, references and symbols.
const Name = "code"

const (
	// queryTimeout bounds a call of the tool, with the start of its server.
	queryTimeout = time.Minute
	// maxPlaces bounds the places of a result, and maxSymbols its symbols.
	// maxMatches bounds the symbols that match a name.
	maxPlaces, maxSymbols, maxMatches = 60, 200, 40
	// maxTried bounds the lines in which a name without a line is looked up.
	maxTried = 8
)

const noneFound = "none found"

var navigateSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{"type":"object","properties":{` +
		`"action":{"enum":["definition","references","symbols"]},` +
		`"name":{"type":"string"},"path":{"type":"string"},"line":{"type":"integer"}},` +
		`"required":["action"],"additionalProperties":false}`)
})

// Arguments are the arguments of the tool.
type Arguments struct {
	Action string  `json:"action"`
	Name   string  `json:"name,omitempty"`
	Path   string  `json:"path,omitempty"`
	Line   float64 `json:"line,omitempty"`
}

// Title describes the call in one line.
func (in Arguments) Title() string {
	title := in.Action
	if in.Name != "" {
		title += " of " + in.Name
	}
	if in.Path != "" {
		title += " in " + in.Path
	}
	return title
}

// Tool returns the tool for definitions, references and symbols.
func (s *Servers) Tool() tool.Tool {
	return tool.Must(tool.New(Name,
		"Asks the language server for the definition or references of a name (path and line where it stands: exact), "+
			"or the symbols of a file or matching a name.",
		s.navigate, navigateSchema(), tool.ReadOnly(), tool.WithTitle(Arguments.Title)))
}

func (s *Servers) navigate(ctx context.Context, in Arguments) (tool.Result, error) {
	call, _ := tool.CallFrom(ctx)
	language, target, err := s.target(call, in)
	if err != nil {
		return tool.Result{}, err
	}
	one := s.of(language)
	if one == nil {
		return tool.Result{}, errClosed
	}
	bounded, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	out, err := one.ask(bounded, job{query: func(ctx context.Context, s *server) (string, error) {
		return s.query(ctx, in, target)
	}})
	switch {
	case ctx.Err() != nil:
		return tool.Result{Aborted: true}, nil
	case bounded.Err() != nil:
		return tool.Result{}, fmt.Errorf("%s did not answer within %s%s", language.Name, queryTimeout, one.busy())
	case err != nil:
		return tool.Result{}, fmt.Errorf("%s: %w", language.Name, err)
	}
	return tool.Result{Output: out}, nil
}

// target is the file of a query, with its text as settle read it; zero for none.
type target struct {
	path    string // absolute, without links
	content []byte
	at      []position // where the name can stand
}

// target opens the file that the call was judged by, and finds the name in it.
func (s *Servers) target(call tool.Call, in Arguments) (Language, *target, error) {
	if in.Name == "" && (in.Action != "symbols" || in.Path == "") {
		return Language{}, nil, errors.New("name the symbol; symbols also takes a path alone")
	}
	if in.Path == "" {
		for _, l := range s.config.Languages {
			if l.ServesProject(s.config.Dir) {
				return l, nil, nil
			}
		}
		return Language{}, nil, errors.New("no language server serves this directory; name a file in path")
	}
	l, served := s.languageOf(in.Path)
	if !served {
		return Language{}, nil, fmt.Errorf("no installed language server serves %q", in.Path)
	}
	place, err := disk.Locate(call.Dir, in.Path, call.Places)
	if err != nil {
		return Language{}, nil, err
	}
	if !disk.Within(s.config.Dir, place.Real) {
		return Language{}, nil, fmt.Errorf("%q is outside of the working directory", in.Path)
	}
	f, _, err := place.Open()
	if err != nil {
		return Language{}, nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil || len(content) > maxFile {
		return Language{}, nil, fmt.Errorf("cannot read %q, or it has more than %d bytes: %w", in.Path, maxFile, err)
	}
	t := &target{path: place.Real, content: content}
	if in.Action != "symbols" {
		if t.at, err = find(content, in.Name, int(in.Line)); err != nil {
			return Language{}, nil, fmt.Errorf("%w in %q", err, in.Path)
		}
	}
	return l, t, nil
}

// find returns the position of a name: in the line, or, if the line is 0, in the first lines
// that have it as a word. The first of them can be comments.
func find(content []byte, name string, line int) (list []position, err error) {
	if at := strings.LastIndexAny(name, ".:"); at >= 0 && at+1 < len(name) {
		name = name[at+1:] // pkg.Name, Type::name
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, maxFile+1)
	for n := 1; lines.Scan(); n++ {
		if line > 0 && n != line {
			continue
		}
		if column, found := word(lines.Text(), name); found {
			list = append(list, position{n - 1, column})
		}
		switch {
		case n == line && len(list) == 0:
			return nil, fmt.Errorf("line %d is %q: there is no %q", line, clip(lines.Text(), 200), name)
		case n == line || len(list) == maxTried:
			return list, nil
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no %q", name)
	}
	return list, nil
}

// word returns the column of a word in UTF-16 units.
func word(line, name string) (column int, found bool) {
	isLetter := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for at := 0; ; {
		n := strings.Index(line[at:], name)
		if n < 0 {
			return 0, false
		}
		from, to := at+n, at+n+len(name)
		before, _ := utf8.DecodeLastRuneInString(line[:from])
		after, _ := utf8.DecodeRuneInString(line[to:])
		if (from == 0 || !isLetter(before)) && (to == len(line) || !isLetter(after)) {
			return len(utf16.Encode([]rune(line[:from]))), true
		}
		at = from + 1
	}
}

// query asks the server; only the owner calls it.
func (s *server) query(ctx context.Context, in Arguments, t *target) (out string, err error) {
	s.doesNow("it answers a question")
	if err := s.follow(ctx, nil); err != nil {
		return "", err
	}
	if t == nil {
		return s.byName(ctx, in)
	}
	if _, err := s.put(ctx, t.path, t.content); err != nil {
		return "", err
	}
	document := map[string]string{"uri": uriOf(t.path)}
	if in.Action == "symbols" {
		list, err := s.symbols(ctx, "textDocument/documentSymbol", map[string]any{"textDocument": document})
		if err != nil {
			return "", err
		}
		return s.outline(list, in.Name), nil
	}
	for _, at := range t.at {
		out, err = s.places(ctx, in.Action, uriOf(t.path), at)
		if err != nil || out != noneFound {
			return out, err
		}
	}
	return noneFound, nil
}

// byName finds the symbols of the project with a name.
func (s *server) byName(ctx context.Context, in Arguments) (string, error) {
	list, err := s.symbols(ctx, "workspace/symbol", map[string]string{"query": in.Name})
	if err != nil {
		return "", err
	}
	ours := slices.DeleteFunc(slices.Clone(list), func(one symbol) bool {
		return !disk.Within(s.config.Dir, pathOf(one.Location.URI))
	})
	if len(ours) > 0 {
		list = ours // libraries can have thousands
	}
	if in.Action == "symbols" {
		if len(list) <= maxMatches {
			return s.outline(list, ""), nil
		}
		return s.outline(list[:maxMatches], "") + "\nand more: a longer name finds fewer", nil
	}
	last := in.Name[strings.LastIndexAny(in.Name, ".:")+1:]
	var exact []symbol
	for _, one := range list {
		if one.Name == in.Name || one.Name[strings.LastIndexAny(one.Name, ".:")+1:] == last {
			exact = append(exact, one)
		}
	}
	switch {
	case len(exact) == 0:
		return fmt.Sprintf("no symbol of the project is named %q", in.Name), nil
	case in.Action == "definition":
		return s.outline(exact, ""), nil
	case len(exact) > 1:
		return "several symbols have this name; name path and line of one:\n" + s.outline(exact, ""), nil
	}
	at := exact[0].Location
	return s.places(ctx, in.Action, at.URI, at.Range.Start)
}

// symbols asks for symbols.
func (s *server) symbols(ctx context.Context, method string, params any) ([]symbol, error) {
	var raw json.RawMessage
	if err := s.conn.call(ctx, method, params, &raw); err != nil {
		return nil, err
	}
	return symbols(raw)
}

// places asks for a definition or for references.
func (s *server) places(ctx context.Context, action, uri string, at position) (string, error) {
	params := map[string]any{"textDocument": map[string]string{"uri": uri}, "position": at}
	method := "textDocument/definition"
	if action == "references" {
		method = "textDocument/references"
		params["context"] = map[string]bool{"includeDeclaration": true}
	}
	var raw json.RawMessage
	if err := s.conn.call(ctx, method, params, &raw); err != nil {
		return "", err
	}
	list, n := locations(raw)
	if len(list) == 0 {
		return noneFound, nil
	}
	var out strings.Builder
	for _, l := range list {
		path := pathOf(l.URI)
		if path == "" {
			continue
		}
		fmt.Fprintf(&out, "%s:%d: %s\n", s.shown(path), l.Range.Start.Line+1, s.line(path, l.Range.Start.Line))
	}
	if more := n - maxPlaces; more > 0 {
		fmt.Fprintf(&out, "and %d more\n", more)
	}
	return strings.TrimSpace(out.String()), nil
}

// line returns a line of a file of the project that the server serves; "" for others.
func (s *server) line(path string, n int) string {
	if s.language.id(path) == "" {
		return ""
	}
	place, err := disk.Locate(s.config.Dir, path, nil)
	if err != nil || !disk.Within(s.config.Dir, place.Real) || s.language.id(place.Real) == "" {
		return ""
	}
	f, _, err := place.Open()
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxFile))
	for at := 0; lines.Scan(); at++ {
		if at == n {
			return clip(terminal.OneLine(lines.Text()), 200)
		}
	}
	return ""
}

// outline lists symbols, one a line.
func (s *server) outline(list []symbol, name string) string {
	var out strings.Builder
	n := 0
	var add func(list []symbol, depth int)
	add = func(list []symbol, depth int) {
		for _, one := range list {
			if n > maxSymbols {
				return
			}
			if name == "" || strings.Contains(strings.ToLower(one.Name), strings.ToLower(name)) {
				if n++; n > maxSymbols {
					fmt.Fprint(&out, "and more\n")
					return
				}
				fmt.Fprintf(&out, "%s%s\n", strings.Repeat("  ", depth), s.symbolLine(one))
			}
			add(one.children, depth+1)
		}
	}
	add(list, 0)
	if n == 0 {
		return noneFound
	}
	return strings.TrimRight(out.String(), "\n")
}

func (s *server) symbolLine(one symbol) string {
	name := clip(terminal.OneLine(one.Name), 200)
	if one.Location.URI != "" {
		path := pathOf(one.Location.URI)
		text := fmt.Sprintf("%s:%d: %s %s", s.shown(path), one.Location.Range.Start.Line+1, kindName(one.Kind), name)
		if one.Container != "" {
			text += " in " + clip(terminal.OneLine(filepath.Base(one.Container)), 100)
		}
		return text
	}
	return fmt.Sprintf("%d: %s %s", one.Selection.Start.Line+1, kindName(one.Kind), name)
}
