package lsp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// fakeMode makes this test binary a language server whose behaviour is the value.
const fakeMode = "SETTLE_TEST_LSP"

// fake is a server without a library, so that it can misbehave. In its language, a line
// "ERROR text" is an error, and "BREAKS path" is an error in another file.
type fake struct {
	mode  string
	texts map[string]document

	mu     sync.Mutex // guards the output and the fields below
	loaded map[string]bool
	token  int
}

type document struct {
	text    string
	version int
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method"`
	Params struct {
		Document struct {
			URI     string `json:"uri"`
			Version int    `json:"version"`
			Text    string `json:"text"`
		} `json:"textDocument"`
		Changes []struct{ Text string } `json:"contentChanges"`
		Events  json.RawMessage         `json:"changes"`
		Query   string                  `json:"query"`
	} `json:"params"`
}

func (f *fake) send(v any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, err := json.MarshalIndent(v, "", "  ") // with line breaks, as some servers write
	if err != nil {
		panic(err)
	}
	fmt.Printf("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(raw), raw)
}

// raw sends JSON as it is.
func (f *fake) raw(format string, a ...any) {
	text := fmt.Sprintf(format, a...)
	fmt.Printf("Content-Length: %d\r\n\r\n%s", len(text), text)
}

// works reports the begin of work, and returns the function that reports its end.
func (f *fake) works(title string) (end func()) {
	f.mu.Lock()
	f.token++
	token := f.token
	f.mu.Unlock()
	report := func(kind, title string) {
		f.send(map[string]any{"jsonrpc": "2.0", "method": "$/progress", "params": map[string]any{
			"token": token, "value": map[string]string{"kind": kind, "title": title},
		}})
	}
	report("begin", title)
	return func() { report("end", "") }
}

// asGopls plays the order of gopls's messages: it publishes no errors of a file before it has
// loaded the file's package, and publishes them only after another message about the file. It
// reports whether the mode does so.
func (f *fake) asGopls(m message) bool {
	d := m.Params.Document
	switch {
	case f.mode == "works on" && m.Method == "initialized":
		f.works("diagnosing initial workspace load")
		return true
	case f.mode != "gopls":
		return false
	}
	switch m.Method {
	case "initialized":
		f.works("diagnosing initial workspace load")()
		f.works("Error loading workspace") // never ends
	case "textDocument/didOpen":
		f.texts[d.URI] = document{d.Text, d.Version}
		end := f.works("diagnosing opened files")
		f.publish(d.URI, "", d.Version)
		go func() { // ends after "go list"
			<-time.After(50 * time.Millisecond)
			f.mu.Lock()
			f.loaded[d.URI] = true
			f.mu.Unlock()
			end()
		}()
	case "textDocument/didSave", "textDocument/didChange":
		if m.Method == "textDocument/didChange" {
			f.texts[d.URI] = document{m.Params.Changes[0].Text, d.Version}
		}
		end := f.works("diagnosing saved files")
		f.mu.Lock()
		isLoaded := f.loaded[d.URI]
		f.mu.Unlock()
		now := f.texts[d.URI]
		if !isLoaded {
			now.text = ""
		}
		f.publish(d.URI, now.text, now.version)
		end()
	case "workspace/didChangeWatchedFiles", "textDocument/didClose":
		f.works("diagnosing files changed on disk")()
	default:
		return false
	}
	return true
}

// much sends more than an honest server, and reports whether the mode does so.
func (f *fake) much(m message) bool {
	const published = `{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics",` +
		`"params":{"uri":%q,"diagnostics":[%s]}}`
	one := `{"severity":1,"message":"m","range":{"start":{"line":1}}}`
	two := strings.TrimSuffix(strings.Repeat(one+",", 200), ",")
	switch f.mode + " " + m.Method {
	case "publishes much textDocument/didOpen":
		f.raw(published, "file:///a.go", fmt.Sprintf(`{"message":%q}`, strings.Repeat("x", 2<<20)))
		return true
	case "long names textDocument/didOpen":
		f.raw(published, "file:///"+strings.Repeat("x", 900<<10), two)
	case "many errors textDocument/didOpen":
		for n := range 110 {
			f.raw(published, fmt.Sprintf("file:///%d.go", n), two)
		}
	case "long answers textDocument/documentSymbol":
		f.raw(`{"jsonrpc":"2.0","id":%s,"result":[%s{}]}`, m.ID, strings.Repeat("{},", 2_000_000))
		return true
	case "long answers textDocument/definition":
		f.raw(`{"jsonrpc":"2.0","id":%s,"result":[{"uri":"file:///%s.go","range":{"start":{"line":1}}}]}`,
			m.ID, strings.Repeat("x", 3000))
		return true
	case "long answers textDocument/references":
		f.raw(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":%q}}`, m.ID, strings.Repeat("x", 1<<20))
		return true
	}
	return false
}

func (f *fake) serve() {
	switch f.mode {
	case "dies at start":
		fmt.Fprintln(os.Stderr, "no such toolchain")
		os.Exit(3)
	case "hangs at start":
		<-time.After(time.Hour)
	case "garbage":
		for {
			fmt.Println(strings.Repeat("garbage ", 1000))
		}
	case "announces":
		fmt.Print("Content-Length: 999999999999\r\n\r\n")
		<-time.After(time.Hour)
	case "negative":
		fmt.Print("Content-Length: -5\r\n\r\n")
		<-time.After(time.Hour)
	case "endless header":
		for {
			fmt.Print(strings.Repeat("x", 1<<20))
		}
	}
	in := bufio.NewReader(os.Stdin)
	for {
		size := 0
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			_, _ = fmt.Sscanf(line, "Content-Length: %d", &size)
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			panic(err)
		}
		f.receive(m)
	}
}

func (f *fake) receive(m message) {
	if f.much(m) || f.asGopls(m) {
		return
	}
	d := m.Params.Document
	switch m.Method {
	case "initialize":
		f.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"capabilities": map[string]any{}}})
		f.send(map[string]any{
			"jsonrpc": "2.0", "id": "c1", "method": "workspace/configuration",
			"params": map[string]any{"items": []any{map[string]string{"section": "fake"}}},
		})
	case "textDocument/didSave":
		if f.mode == "saves forever" {
			f.works("checking") // never ends
		}
	case "workspace/didChangeWatchedFiles":
		fmt.Fprintln(os.Stderr, "events:", string(m.Params.Events))
	case "textDocument/didOpen":
		f.texts[d.URI] = document{d.Text, d.Version}
		f.publish(d.URI, d.Text, d.Version)
	case "textDocument/didChange":
		if f.mode == "dies" {
			fmt.Fprintln(os.Stderr, "panic: nil map")
			os.Exit(2)
		}
		before := f.texts[d.URI]
		f.texts[d.URI] = document{m.Params.Changes[0].Text, d.Version}
		f.publish(d.URI, m.Params.Changes[0].Text, d.Version)
		if f.mode == "late" {
			f.publish(d.URI, before.text, before.version)
		}
	case "textDocument/definition":
		if f.mode == "never answers" {
			return
		}
		f.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{
			"uri": d.URI, "range": map[string]any{"start": map[string]int{"line": 1}},
		}})
	case "textDocument/references":
		f.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": []any{
			map[string]any{"uri": "file:///etc/passwd", "range": map[string]any{"start": map[string]int{"line": 0}}},
			map[string]any{"uri": "https://example.com", "range": map[string]any{"start": map[string]int{"line": -9}}},
		}})
	case "textDocument/documentSymbol", "workspace/symbol":
		if f.mode == "libraries" {
			f.libraries(m)
			return
		}
		f.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": []any{map[string]any{
			"name": "Thing\x1b[2J", "kind": 5, "selectionRange": map[string]any{"start": map[string]int{"line": 3}},
			"children": []any{map[string]any{"name": "method", "kind": 6}},
		}}})
	}
}

// libraries finds a symbol Add in the working directory, and many others elsewhere.
func (f *fake) libraries(m message) {
	at := func(uri, name string) any {
		return map[string]any{"name": name, "kind": 12, "location": map[string]any{"uri": uri}}
	}
	var list []any
	for n := range 99 {
		list = append(list, at(fmt.Sprintf("file:///usr/lib/%d.go", n), m.Params.Query))
	}
	if dir, err := os.Getwd(); err == nil && m.Params.Query == "Add" {
		list = append(list, at("file://"+dir+"/a.go", "Add"))
	}
	f.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": list})
}

// publish judges a text.
func (f *fake) publish(uri, text string, version int) {
	if f.mode == "silent" {
		return
	}
	by := map[string][]any{uri: {}}
	for n, line := range strings.Split(text, "\n") {
		about, isError := strings.CutPrefix(line, "ERROR ")
		at := uri
		if other, breaks := strings.CutPrefix(line, "BREAKS "); breaks {
			at, about, isError = uri[:strings.LastIndex(uri, "/")+1]+other, "broken from elsewhere", true
		}
		severity := 1
		if warning, isWarning := strings.CutPrefix(line, "WARNING "); isWarning {
			about, isError, severity = warning, true, 2
		}
		if isError {
			by[at] = append(by[at], map[string]any{
				"severity": severity, "message": about,
				"range": map[string]any{"start": map[string]int{"line": n, "character": 2}},
			})
		}
	}
	for at, list := range by {
		params := map[string]any{"uri": at, "diagnostics": list}
		if at == uri && f.mode != "no versions" {
			params["version"] = version
		}
		f.send(map[string]any{"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params})
	}
}
