package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// fakeMode makes this test binary a server whose behaviour is the value.
const fakeMode = "SETTLE_TEST_MCP"

// fake is a server on its standard streams, without a library, so that it can misbehave.
type fake struct {
	mode string
	mu   *sync.Mutex
	more bool // its list of tools has changed

	asking    *frame // the call that waits for input
	questions int
}

type frame struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// hang waits for the end of the process.
func hang() {
	for {
		<-time.After(time.Hour)
	}
}

func (f fake) serve() {
	f.mu = &sync.Mutex{}
	switch f.mode {
	case "dies at start":
		fmt.Fprintln(os.Stderr, "no such database")
		os.Exit(3)
	case "hangs at start":
		hang()
	case "greets":
		fmt.Println("Listening on stdio!\n\n[not json")
	case "garbage":
		for {
			fmt.Println(strings.Repeat("garbage ", 1000))
		}
	case "endless line":
		for {
			fmt.Print(strings.Repeat("x", 1<<20))
		}
	case "asks and asks":
		for i := range 1000 {
			f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{}}`, 1000+i))
		}
		hang() // no more answers
	case "stubborn":
		child := exec.Command("sh", "-c", "trap '' TERM; exec setsid sleep 1000")
		child.Env = []string{"PATH=" + os.Getenv("PATH"), "STUBBORN=" + os.Getenv("STUBBORN")}
		if err := child.Start(); err != nil {
			panic(err)
		}
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if f.mode == "stubborn" {
				hang()
			}
			return
		}
		var m frame
		if json.Unmarshal(line, &m) == nil && len(m.ID) > 0 && m.Method != "" {
			f.answer(m)
		} else if f.asking != nil && len(m.ID) > 0 && m.Method == "" {
			f.filled(m)
		} else if m.Method == "notifications/cancelled" {
			fmt.Fprintln(os.Stderr, "cancelled:", string(m.Params))
			if path := os.Getenv("CANCELLED"); path != "" {
				_ = os.WriteFile(path, m.Params, 0o600)
			}
		}
	}
}

func (f *fake) send(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Println(line)
}

func (f *fake) reply(m frame, result string) {
	f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
}

func (f *fake) answer(m frame) {
	switch m.Method {
	case "server/discover":
		switch f.mode {
		case "modern":
			f.reply(
				m,
				`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"2"}}}`,
			)
		case "says nothing to discover":
		default:
			f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID))
		}
	case "initialize":
		if f.mode == "no capabilities" {
			f.reply(m, `{"protocolVersion":"2025-11-25","serverInfo":{"name":"fake","version":"1"}}`)
			return
		}
		resources := ""
		if f.mode == "reads" {
			resources = `,"resources":{}`
		}
		if strings.HasPrefix(f.mode, "prompts") {
			resources = `,"prompts":{"listChanged":true}`
		}
		f.reply(m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}`+resources+
			`},"serverInfo":{"name":"fake","version":"1"}}`)
	case "resources/list": // the same page forever
		f.reply(m, `{"resources":[null,{"uri":"x:///1\u001b[2J","name":"a\nb"}],"nextCursor":"more"}`)
	case "resources/templates/list":
		f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID))
	case "resources/read":
		f.reply(m, `{"contents":[null,{"uri":"x:///1","text":"one"}]}`)
	case "prompts/list":
		f.listPrompts(m)
	case "prompts/get":
		f.prompt(m)
	case "tools/list":
		f.reply(m, f.tools())
	case "tools/call":
		var p struct {
			Name      string            `json:"name"`
			Arguments map[string]string `json:"arguments"`
			Meta      struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		}
		_ = json.Unmarshal(m.Params, &p)
		f.call(m, p.Name, p.Arguments["text"], string(p.Meta.Token))
	default:
		f.reply(m, `{}`)
	}
}

// listPrompts lists the prompts, or does not answer.
func (f *fake) listPrompts(m frame) {
	if f.mode == "prompts: no list" {
		return
	}
	names := []string{"hang", "die", "flood", "nothing", "refuse", "garble", "big", "odd \u00fc name"}
	if f.more {
		names = append(names, "late")
	}
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf(`{"name":%q,"description":"does\n%s","arguments":[null,{"name":"text"}]}`,
			name, name))
	}
	f.reply(m, `{"prompts":[null,`+strings.Join(list, ",")+`]}`)
}

// prompt misbehaves as the prompt's name says.
func (f *fake) prompt(m frame) {
	var p struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(m.Params, &p)
	said := func(text string) {
		f.reply(m, `{"messages":[{"role":"user","content":{"type":"text","text":"`+text+`"}}]}`)
	}
	switch p.Name {
	case "hang", "die", "flood":
		f.call(m, p.Name, "", "")
	case "nothing":
		f.reply(m, `{"messages":[]}`)
	case "refuse":
		f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such city"}}`, m.ID))
	case "garble":
		f.reply(m, `{"messages":[null,{"role":"user","content":{"type":"text","text":"bad `+"\xff"+
			` end"}},{"role":"nobody","content":{"type":"text","text":"x"}}]}`)
	case "big":
		said("begin " + strings.Repeat("z", 200_000) + " end")
	default:
		f.more = true
		f.send(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
		said("changed")
	}
}

// form requests input, in the mode that the call names.
func (f *fake) form(m frame, mode string) {
	f.asking, f.questions = &m, f.questions+1
	params := `{"mode":"form","message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":2},"age":{"type":"integer"}},"required":["name"]}}`
	switch mode {
	case "page":
		params = `{"mode":"url","message":"Sign in","url":"https://example.com/in","elicitationId":"e1"}`
	case "script":
		params = `{"mode":"url","message":"Sign in","url":"javascript:alert(1)","elicitationId":"e1"}`
	}
	f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":%s}`, 700+f.questions, params))
	switch mode {
	case "dies":
		os.Exit(7)
	case "takes back":
		f.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`,
			700+f.questions))
	case "goes on":
		f.reply(m, text("never mind"))
	}
}

// filled answers the call with the user's input, or requests input again.
func (f *fake) filled(m frame) {
	var p struct {
		Arguments map[string]string `json:"arguments"`
	}
	_ = json.Unmarshal(f.asking.Params, &p)
	if p.Arguments["text"] == "endless" {
		f.form(*f.asking, "endless")
		return
	}
	f.reply(*f.asking, text(string(m.Result)+string(m.Error)))
	f.asking = nil
}

func (f *fake) tools() string {
	names := []string{
		"echo", "hang", "die", "flood", "big", "image", "change", "ask", "step", "fail", "garble",
		"env", "link", "structure", "form", "page first",
	}
	if f.more {
		names = append(names, "late")
	}
	if f.mode == "many" {
		for i := range 40 {
			names = append(names, fmt.Sprintf("number%d", i))
		}
	}
	var tools []string
	for _, name := range names {
		tools = append(
			tools,
			fmt.Sprintf(
				`{"name":%q,"description":"does %s","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`,
				name, name,
			),
		)
	}
	return `{"tools":[` + strings.Join(tools, ",") + `],"resultType":"complete"}`
}

func text(s string) string {
	raw, _ := json.Marshal(s)
	return `{"content":[{"type":"text","text":` + string(raw) + `}],"resultType":"complete"}`
}

func (f *fake) call(m frame, name, given, token string) {
	switch name {
	case "echo":
		f.reply(m, text(given))
	case "env":
		f.reply(m, text(os.Getenv(given)))
	case "hang": // other requests are answered in the meantime
		fmt.Fprintln(os.Stderr, "hanging")
		if path := os.Getenv("HANGING"); path != "" {
			_ = os.WriteFile(path, nil, 0o600)
		}
	case "die":
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(7)
	case "flood":
		for range 1000 {
			f.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` +
				strings.Repeat("y", 1000) + `"}}`)
			f.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		f.reply(m, text("flooded"))
	case "big":
		f.reply(m, text("begin "+strings.Repeat("z", 100_000)+" end"))
	case "image":
		f.reply(
			m,
			`{"content":[{"type":"text","text":"a picture:"},{"type":"image","mimeType":"image/png","data":"aGVsbG8="}],"resultType":"complete"}`,
		)
	case "link":
		f.reply(
			m,
			`{"content":[{"type":"resource_link","uri":"file:///x","name":"x","mimeType":"text/plain"},{"type":"resource","resource":{"uri":"file:///y","text":"inside"}}],"resultType":"complete"}`,
		)
	case "structure":
		f.reply(m, `{"content":[],"structuredContent":{"a":1},"resultType":"complete"}`)
	case "change":
		f.more = true
		f.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		f.reply(m, text("changed"))
	case "ask":
		f.send(
			`{"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"Your password?","requestedSchema":{"type":"object","properties":{}}}}`,
		)
		f.reply(m, text("asked"))
	case "form":
		f.form(m, given)
	case "page first":
		f.send(
			fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"sign in first","data":{"elicitations":[{"mode":"url","message":"Sign in","url":"https://example.com/in","elicitationId":"e1"}]}}}`,
				m.ID,
			),
		)
	case "step":
		f.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token +
			`,"progress":1,"total":2,"message":"half"}}`)
		f.reply(m, text("stepped"))
	case "fail":
		f.reply(m, `{"content":[{"type":"text","text":"no such file"}],"isError":true,"resultType":"complete"}`)
	case "garble":
		f.reply(m, `{"content":[null,{"type":"unheard of"}],"resultType":"complete"}`)
	default:
		f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool %s"}}`, m.ID, name))
	}
}
