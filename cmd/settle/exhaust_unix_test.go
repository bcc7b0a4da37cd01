//go:build unix

package main

import (
	"bytes"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/modeltest"
)

// Each frontend writes the line for programs when a turn's retries are exhausted, also on a
// terminal.
func TestExhaustLineOfEachFrontend(t *testing.T) {
	t.Parallel()
	const line = `[retry-exhaust] {"session":"`
	overloaded := func(p *place) []string {
		turn := modeltest.Say("Hello!").With(modeltest.Status(529, ""))
		server := modeltest.NewServer(p.t, modeltest.Script(turn))
		return []string{"-m", "chat/m", "--base-url", server.OpenAI(), "--retries", "0"}
	}
	for name, stderrOf := range map[string]func(*place) string{
		"run on a terminal": func(p *place) string {
			cmd := p.command(append([]string{"run", "hello"}, overloaded(p)...)...)
			return ended(p.t, cmd, onTerminal(p.t, cmd), 1)
		},
		"terminal": func(p *place) string {
			cmd, keys, shot, _ := openTerminal(p.t, p, append(overloaded(p), "say hello")...)
			shot.shows(p.t, "✗ ")
			typed(p.t, keys, "\x04")
			exited(p.t, cmd, 0)
			return styles.ReplaceAllString(shot.String(), "")
		},
		"serve": func(p *place) string {
			v := p.serve(modeltest.NewServer(p.t, modeltest.Scenario{}), overloaded(p)...)
			session := "api/sessions/" + v.call("POST", "api/sessions", "", 201)["id"].(string)
			v.call("POST", session+"/inputs", `{"text":"hello"}`, 202)
			v.follow(session, 0, event.Event.Terminal)
			signalled(p.t, v.cmd, syscall.SIGTERM)
			v.exits(0)
			return stderr(v.cmd)
		},
		"mcp": func(p *place) string {
			cmd := p.command(append([]string{"mcp"}, overloaded(p)...)...)
			in, err := cmd.StdinPipe()
			if err != nil {
				p.t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				p.t.Fatal(err)
			}
			started(p.t, cmd)
			if _, err := io.WriteString(in, strings.Join([]string{
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
					`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
				`{"jsonrpc":"2.0","id":2,"method":"tools/call",` +
					`"params":{"name":"run","arguments":{"prompt":"hello"}}}`, "",
			}, "\n")); err != nil {
				p.t.Fatal(err)
			}
			for got, more := (bytes.Buffer{}), make([]byte, 4096); !strings.Contains(got.String(), `"isError":true`); {
				n, err := out.Read(more)
				if got.Write(more[:n]); err != nil {
					p.t.Fatalf("%v after %s", err, got.String())
				}
			}
			if err := in.Close(); err != nil {
				p.t.Fatal(err)
			}
			exited(p.t, cmd, 0)
			return stderr(cmd)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := line
			if name == "terminal" { // a row for people
				line = "[retry-exhaust] 1 attempt in "
			}
			if got := stderrOf(newPlace(t)); strings.Count(got, line) != 1 {
				t.Errorf("standard error has not one line %q:\n%s", line, got)
			}
		})
	}
}
