package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/policy/effects"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/mcp"
	searchtool "github.com/settle-agent/settle/tool/search"
	"github.com/settle-agent/settle/tool/web"
)

// The kinds of effects of calls, in addition to the kinds of commands.
const (
	runs   effects.Kind = "runs"   // a command
	hidden effects.Kind = "hidden" // text that the policy cannot judge
	names  effects.Kind = "names"  // a path with an unknown action
	does   effects.Kind = "does"   // the unknown action of another tool
	starts effects.Kind = "starts" // a program that a client named
)

// effect is one effect of a call. A call can run only if each of its effects can.
type effect struct {
	kind effects.Kind
	// text describes the effect to a person, and why is the reason for an approval if no
	// rule decides; empty if there is none, except for the reasons of parts.
	text, why string
	words     []effects.Word // of a command
	parts     []effect       // of a command: the files that it names, and the configuration that it obeys
	known     bool           // of a command: the table has it
	alias     bool           // of a command: git can interpret it as an alias
	place     place          // of a path
	wide      bool           // everything below the place is read
	sensitive bool           // of a path: only a rule that names it allows it
	action    string         // the text that a pattern for another tool matches
}

// arguments are the arguments of the known tools; arguments of other tools are read if they
// have the same name.
type arguments struct {
	Command    string  `json:"command"`
	Workdir    string  `json:"workdir"`
	Release    bool    `json:"release"`
	Background bool    `json:"background"`
	YieldMS    float64 `json:"yield_ms"`
	TTY        bool    `json:"tty"`
	Outside    bool    `json:"outside"` // of the sandbox
	Path       string  `json:"path"`
	Pattern    string  `json:"pattern"`
	Input      string  `json:"input"`
	Action     string  `json:"action"`
	Job        string  `json:"job"`
	URL        string  `json:"url"`
}

// toolCall is a call of a tool with its effects.
type toolCall struct {
	tool      string
	resources bool // it lists or reads resources of a server
	readOnly  bool
	raw       string
	arguments
	approval settle.Approval
	// simple are the simple commands of shell, with a text in place of a message that is a here-document.
	simple    []effects.Command
	workspace workspace
	// places are the targets of its paths; not nil for tools that work on files here.
	places  []event.ResolvedPath
	effects []effect
	patched []string // the paths of a patch, with links resolved
	// harmless reports that the table has each command, and that no file is written.
	harmless bool
}

// look determines the effects of a call. An unknown effect is also an effect.
func (p *Policy) look(a settle.Approval) toolCall {
	c := toolCall{tool: a.Tool.Name, readOnly: a.Tool.ReadOnly, raw: a.Arguments, approval: a}
	c.unwrap()
	if isEditor(c.tool) || isReader(c.tool) {
		c.places = []event.ResolvedPath{}
	}
	var err error
	if c.workspace, err = newWorkspace(p.config.Dir, p.config.Remote); err != nil {
		c.hide(c.tool, err.Error())
		return c
	}
	c.workspace.real = cmp.Or(p.real, c.workspace.real)
	c.workspace.judged, c.workspace.hidden = a.Places, p.config.Hidden
	if p.config.Protected != nil {
		c.workspace.protected = sync.OnceValue(p.config.Protected)
	}
	if strings.TrimSpace(c.raw) != "" {
		err = json.Unmarshal([]byte(c.raw), &c.arguments)
	}
	switch ours := c.tool == "shell" || c.tool == "job" || isEditor(c.tool) || isReader(c.tool); {
	case err != nil && ours:
		c.hide(c.tool, "its arguments are not understood")
	case c.tool == mcp.StartName:
	case c.tool == "shell":
		p.shell(&c)
	case c.tool == "job":
		c.job()
	case c.tool == "apply_patch":
		paths, err := file.PatchPaths(c.Input)
		if err != nil || len(paths) == 0 { // the tool refuses the call for the same reason before it writes
			c.add(effect{kind: effects.Writes, text: c.tool, place: place{rel: ".", inside: true}})
		}
		for _, path := range paths {
			if real, err := c.workspace.resolve(filepath.Clean(absolute(c.workspace.dir, path))); err == nil {
				c.patched = append(c.patched, real)
			}
		}
		for _, path := range paths {
			c.path(effects.Writes, path)
		}
	case isEditor(c.tool):
		c.path(effects.Writes, c.Path)
	case c.tool == "glob":
		c.path(effects.Looks, searchtool.GlobRoot(c.Path, c.Pattern))
	case c.tool == "list":
		c.path(effects.Looks, c.Path)
	case c.tool == web.FetchName:
		c.fetch()
	case c.tool == web.SearchName:
		c.search()
	case isReader(c.tool): // grep omits files with secret names
		c.path(effects.Reads, c.Path)
	default:
		c.unknownTool()
	}
	for _, program := range a.Starts {
		c.start(program)
	}
	return c
}

// unwrap replaces a call that goes through another tool by the call of the server's tool,
// which rules name.
func (c *toolCall) unwrap() {
	if inner, ok := mcp.Unwrap(c.tool, c.raw); ok {
		c.resources = inner.Resources
		c.tool, c.raw, c.readOnly = inner.Name, string(inner.Arguments), false
	}
}

func (c *toolCall) add(e effect) { c.effects = append(c.effects, e) }

func (c *toolCall) hide(text, why string) { c.add(effect{kind: hidden, text: text, why: why}) }

// start adds the effect of starting a program that a client named, such as an MCP server.
// The approval shows its whole command line.
func (c *toolCall) start(program tool.Program) {
	words := make([]string, len(program.Argv))
	for i, word := range program.Argv {
		words[i] = terminal.ShellWord(word)
	}
	text := fmt.Sprintf("start the MCP server %s of the client: %s, in %s", terminal.ShellWord(program.Name),
		strings.Join(words, " "), program.Dir)
	if len(program.Variables) > 0 {
		text += ", with the variables " + strings.Join(program.Variables, ", ")
	}
	c.readOnly = false
	c.add(effect{
		kind: starts, text: text, why: "a client named this program, and it can do what you can",
		action: program.Name,
	})
}

func (c *toolCall) path(kind effects.Kind, path string) {
	at, err := c.workspace.decide(filepath.Clean(absolute(c.workspace.dir, cmp.Or(path, "."))))
	c.places = append(c.places, at)
	if err != nil {
		c.hide(path, err.Error())
		return
	}
	p := c.workspace.place(at)
	p.also = c.patched
	c.add(pathEffect(kind, p))
}

// job judges a call of job.
func (c *toolCall) job() {
	e := effect{kind: does, text: strings.TrimSpace("job " + c.Action + " " + c.Job), action: c.Action}
	switch c.Action {
	case "list", "read", "wait", "kill":
	case "write":
		e.why = "it writes to the input of a process, which may do anything with it"
		c.hide(c.Input, e.why) // the job can be a shell
	default:
		e.why = "it lets a process run on after the session"
	}
	c.add(e)
}

// fetch judges a call that reads a web page.
func (c *toolCall) fetch() {
	host := web.Host(c.URL)
	if host == "" {
		c.hide(c.URL, "its url cannot be fetched")
		return
	}
	c.add(effect{kind: does, text: "fetch " + c.URL, why: "it reads from " + host + " over the network", action: host})
}

// search judges a web search. Patterns match the query.
func (c *toolCall) search() {
	query := web.Query([]byte(c.raw))
	c.add(effect{
		kind: does, text: "search the web for " + query, why: "it sends the query to the search service",
		action: query,
	})
}

// unknownTool judges a call of an unknown tool, with its argument "path".
func (c *toolCall) unknownTool() {
	e := effect{kind: does, text: c.tool}
	if c.Path != "" {
		c.path(effects.Reads, c.Path)
	}
	if !c.readOnly {
		e.why = "it is not known what " + c.tool + " does"
		if len(c.effects) > 0 && c.effects[0].kind == effects.Reads {
			e.place = c.effects[0].place
			e.sensitive, c.effects = e.place.guarded(), nil
		}
	}
	c.add(e)
}

// releases reports whether a call would release a process from the session.
func (c toolCall) releases() bool {
	return c.tool == "shell" && c.Release || c.tool == "job" && c.Action == "release"
}

// grant is the scope of an approval for the session: two calls have the same key only if
// the text shown for one describes the other.
func (c toolCall) grant() (key, covers string) {
	if c.tool == "shell" {
		return fmt.Sprintf("shell %#v", c.arguments), "the same command, to the letter, in the same directory"
	}
	if host := web.Host(c.URL); c.tool == web.FetchName && host != "" {
		return "fetch " + host, "every later fetch from " + host
	}
	if c.tool == web.SearchName {
		return c.tool, "every later search of the web"
	}
	if len(c.effects) == 1 && c.tool != "grep" && c.tool != "glob" {
		switch e := c.effects[0]; {
		case e.kind == effects.Reads:
			return "reads " + e.place.real, "reading " + e.place.String() + " again"
		case e.kind == effects.Writes && !e.place.guarded():
			return "writes " + e.place.real, "every later change of " + e.place.String()
		}
	}
	return c.tool + " " + c.raw, "the same call, to the letter"
}

// pathEffect returns the effect of a path with the reason for an approval, and whether
// rules must name the path.
func pathEffect(kind effects.Kind, p place) effect {
	e := effect{kind: kind, text: fmt.Sprintf("%s %s", kind, p), place: p}
	if kind == effects.Writes {
		e.why, e.sensitive = "it writes "+p.String(), p.guarded() || p.shared
		if p.ofRepository() {
			e.why += ", a name by which git recognizes a repository or obeys one"
		} else if p.obeyed() {
			e.why += ", which programs outside of the sandbox run or obey"
		}
		if !p.inside {
			e.why += ", which is outside of the working directory"
		}
		return e
	}
	root := filepath.Dir(p.real) == p.real // with /proc below it
	password := kind == effects.Reads && p.hasCredentials()
	e.sensitive = kind == effects.Reads &&
		(p.shared || p.secret() || password || root || virtual(p.named) || virtual(p.real))
	switch {
	case !p.inside:
		e.why = p.String() + " is outside of the working directory"
	case kind == effects.Reads && p.secret():
		e.why = p.String() + " by its name holds secrets"
	case password:
		e.why = p.String() + " has a password or a token"
	case kind == effects.Reads && p.shared:
		e.why = p.String() + " has another name (a hard link), and not all users can read it"
	}
	return e
}
