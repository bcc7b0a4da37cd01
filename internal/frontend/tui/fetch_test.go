package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool/mcp"
)

// docs are sessions with a server that takes an hour, unless its prompt is given up.
func docs() *rich {
	return &rich{
		prompts: []mcp.Command{
			{
				Name: "docs__style", Server: "docs",
				Prompt: mcp.Prompt{
					Name:        "style",
					Description: "The house's style",
					Arguments:   []mcp.Argument{{Name: "lang"}},
				},
			},
		},
		expand: func(ctx context.Context, text string) (string, []event.Image, error) {
			switch {
			case strings.Contains(text, "bad"):
				return "", nil, errors.New("docs__style needs lang")
			case strings.Contains(text, "unknown"):
				return text, nil, nil
			}
			select {
			case <-time.After(time.Hour):
				return "Write Go well.", nil, nil
			case <-ctx.Done():
				return "", nil, context.Cause(ctx)
			}
		},
	}
}

// Keys work while a server is asked for a prompt, and the input is accepted when it
// has answered.
func TestServerPromptIsExpanded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(
			t, Options{Sessions: docs()}, script.Turn(script.Text("I will.")),
			script.Turn(script.Text("And that.")),
		)
		p.types("/docs")
		p.sees("/docs__style [lang]", "The house's style")
		p.types("\t")
		p.types("go\r")
		p.sees("↳ waiting for the MCP server (Esc cancels): /docs__style go")
		p.types("and more")
		p.sees("> and more")
		p.types("\r") // it would overtake
		p.sees("> and more", "waiting for /docs__style go; Esc cancels it")
		time.Sleep(time.Hour)
		synctest.Wait()
		p.sees("▌ Write Go well.", "I will.", "> and more")
		p.misses("asks the MCP server")
		p.types("\r")
		p.sees("And that.")
		p.types("\x04")
		p.left(code, 0)
	})
}

// Esc gives a prompt up; nothing is sent, and the text is in the editor again.
func TestServerPromptCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(
			t, Options{Sessions: docs()}, script.Turn(script.Call("shell", `{"command":"count"}`)),
			script.Turn(script.Text("Done.")),
		)
		p.types("/docs__style go\r")
		p.types("\x1b")
		p.misses("asks the MCP server", "I will.")
		p.sees("> /docs__style go", "not sent; it is in the editor again")
		p.types("\x15/mcp__docs__style bad\r") // as Claude Code has it
		p.sees("not sent: docs__style needs lang", "> /mcp__docs__style bad")
		p.types("\x15/other__unknown\r")
		p.sees("there is no command /other__unknown")
		p.types("\x03count\r")
		p.types("y")
		p.sees("● $ count")
		p.types("/docs__style go\r")
		p.types("\x03") // Ctrl-C ends both, as Esc does
		p.sees("■ interrupted after", "> /docs__style go")
		p.types("\x03\x04")
		p.left(code, 0)
	})
}

// The first prompt may be a command, of a file or of a server; the terminal's own commands
// are no prompts, and run only when they are typed.
func TestFirstPromptExpandsCommand(t *testing.T) {
	own := commandsIn(t, "review.md", "Review $1 with care.")
	for first, want := range map[string]string{
		"/review it":      "▌ Review it with care.",
		"/init":           "▌ Write AGENTS.md for this repository",
		"/docs__style go": "▌ Write Go well.",
		"/quit now":       "▌ /quit now",
		"/tmp/x is what?": "▌ /tmp/x is what?",
	} {
		synctest.Test(t, func(t *testing.T) {
			p, code := newPerson(
				t,
				Options{Sessions: docs(), Prompt: first, Commands: own},
				script.Turn(script.Text("I will.")),
			)
			time.Sleep(time.Hour)
			synctest.Wait()
			p.sees(want, "I will.")
			p.types("\x04")
			p.left(code, 0)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{Sessions: docs(), Prompt: "/docs__style bad", Commands: own})
		p.sees("not sent: docs__style needs lang", "> /docs__style bad")
		p.types("\x03\x04")
		p.left(code, 0)
	})
}

// commandsIn are the commands of a file in a person's configuration.
func commandsIn(t *testing.T, name, text string) func() commands.Set {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "commands"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "commands", name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() commands.Set { return commands.Find(skills.Sources{Config: dir}, skills.Found{}).WithBuiltIn() }
}

// plainHost is a host for the sessions, with a model that follows the script.
func plainHost(t *testing.T, sessions *rich, steps ...script.Step) (*settle.Host, Options) {
	t.Helper()
	host, err := settle.Open(t.Context(), settle.Config{})
	if err != nil {
		t.Fatal(err)
	}
	sessions.inMemory = inMemory{host, settle.SessionConfig{
		Model: model.Config{Provider: script.New(steps...), ProviderName: "script", Name: "m"}, WorkDir: "/w",
	}}
	return host, Options{Sessions: sessions, Place: "~/w"}
}

// Lines for screen readers: the loop goes on while a server is asked.
func TestPlainExpandsServerPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		var out strings.Builder
		host, o := plainHost(t, docs(), script.Turn(script.Text("I will.")))
		code := make(chan int, 1)
		go func() { // ends with the input
			c, err := RunPlain(context.Background(), in, &out, 80, o)
			if err != nil {
				t.Error(err)
			}
			code <- c
		}()
		for _, line := range []string{"/docs__style go", "more", "/stop", "/docs__style go"} {
			if _, err := io.WriteString(typed, line+"\n"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		_ = typed.Close()
		if c := <-code; c != 0 {
			t.Errorf("exit code %d", c)
		}
		_ = in.Close()
		if err := host.Close(context.Background()); err != nil {
			t.Error(err)
		}
		at := 0
		for _, part := range []string{
			"Waiting for the MCP server. /stop cancels.", "Not sent: waiting for /docs__style go.", "Not sent: ",
			"interrupted", "Waiting for the MCP server.", "I will.",
		} {
			n := strings.Index(out.String()[at:], part)
			if n < 0 {
				t.Fatalf("%q is not in its place:\n%s", part, out.String())
			}
			at += n
		}
	})
}
