package toolview

import (
	"encoding/json"
	"path/filepath"

	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/lsp"
	"github.com/settle-agent/settle/tool/plan"
	"github.com/settle-agent/settle/tool/search"
	"github.com/settle-agent/settle/tool/shell"
	"github.com/settle-agent/settle/tool/skill"
	"github.com/settle-agent/settle/tool/task"
	"github.com/settle-agent/settle/tool/web"
)

// Kind is the kind of action of a tool.
type Kind string

// The kinds of calls.
const (
	Command Kind = "command" // runs a command
	Job     Kind = "job"     // works with a command that runs in the background
	Read    Kind = "read"    // reads a file
	Search  Kind = "search"  // searches files or their names
	List    Kind = "list"    // lists a directory
	Edit    Kind = "edit"    // changes files
	Web     Kind = "web"     // searches the web
	Plan    Kind = "plan"    // records the model's plan
	Misc    Kind = "other"   // anything else
)

// KindOf returns the kind of action of a tool.
func KindOf(tool string) Kind {
	switch tool {
	case "shell":
		return Command
	case "job":
		return Job
	case "read":
		return Read
	case "grep", "glob":
		return Search
	case "list":
		return List
	case "write", "edit", "apply_patch":
		return Edit
	case web.SearchName:
		return Web
	case plan.Name:
		return Plan
	default:
		return Misc
	}
}

// Call is a tool call. A field is empty if the arguments leave it out, or have a value that the
// tool would refuse.
type Call struct {
	Tool string
	Kind Kind
	// Arguments are the arguments that the model wrote: valid JSON unchanged, else as a JSON
	// string.
	Arguments json.RawMessage
	// Dir is the working directory of the call, absolute.
	Dir string
	// Command is the command line of a Command.
	Command string
	// Background and Release report how a Command ends.
	Background, Release bool
	// Path is the file or directory that the call names, as it names it.
	Path string
	// Line is the first line that a Read shows, from 1; 0 is the beginning.
	Line int
	// Pattern is the search pattern or query of a Search or a Web search.
	Pattern string
	// Plan is the whole plan that a Plan sets.
	Plan plan.Arguments
	// Title describes the call of another tool of settle in one line.
	Title string

	patch string
}

// New reads a call that was made in the directory, which is absolute.
func New(tool, arguments, dir string) Call {
	c := Call{Tool: tool, Kind: KindOf(tool), Arguments: asJSON(arguments), Dir: dir}
	switch tool {
	case "shell":
		in := decode[shell.Arguments](arguments)
		c.Command, c.Background, c.Release = in.Command, in.Background, in.Release
		c.Dir = Absolute(dir, in.Workdir)
	case "read":
		in := decode[file.ReadArguments](arguments)
		c.Path, c.Line = in.Path, int(in.Offset)
	case "write":
		c.Path = decode[file.WriteArguments](arguments).Path
	case "edit":
		c.Path = decode[file.EditArguments](arguments).Path
	case "apply_patch":
		c.patch = decode[file.PatchArguments](arguments).Input
	case "grep":
		in := decode[search.GrepArguments](arguments)
		c.Path, c.Pattern = in.Path, in.Pattern
	case "glob":
		in := decode[search.GlobArguments](arguments)
		c.Path, c.Pattern = in.Path, in.Pattern
	case "list":
		c.Path = decode[search.ListArguments](arguments).Path
	case web.SearchName:
		c.Pattern = web.Query([]byte(arguments))
	case plan.Name:
		c.Plan = decode[plan.Arguments](arguments)
	default:
		c.Title = titleOf(tool, []byte(arguments))
	}
	return c
}

// titleOf describes a call of settle's other tools; "" for the tools of servers, and for arguments that
// cannot be read.
func titleOf(tool string, arguments []byte) string {
	switch tool {
	case "job":
		return titled(arguments, shell.JobArguments.Title)
	case lsp.Name:
		return titled(arguments, lsp.Arguments.Title)
	case skill.Name:
		return skill.Title(arguments)
	case web.FetchName:
		return web.FetchTitle(arguments)
	}
	return task.Title(tool, arguments)
}

func titled[T any](arguments []byte, title func(T) string) string {
	var in T
	if json.Unmarshal(arguments, &in) != nil {
		return ""
	}
	return title(in)
}

// Paths are the files and directories that the call names, absolute.
func (c Call) Paths() []string {
	var paths []string
	if c.Path != "" {
		paths = append(paths, Absolute(c.Dir, c.Path))
	}
	for _, change := range c.named() {
		if change.From != "" {
			paths = append(paths, change.From)
		}
		if c.patch != "" {
			paths = append(paths, change.Path)
		}
	}
	return paths
}

// Absolute returns the path as seen from the directory.
func Absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// decode reads arguments. Arguments that cannot be read are empty: the tool refuses them.
func decode[T any](arguments string) T {
	var in, none T
	if json.Unmarshal([]byte(arguments), &in) != nil {
		return none
	}
	return in
}

func asJSON(arguments string) json.RawMessage {
	if json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments)
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return json.RawMessage("null") // a string: it cannot fail
	}
	return text
}
