package assemble

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/prompt"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/skills"
)

// instructions returns the function that finds the project's instructions in the folders
// that calls worked in; nil if no file of the project is read.
func (o *Options) instructions() func(string, []event.Content) []settle.Instruction {
	if o.Project == IgnoreProject || o.Settings.Executor != "" {
		return nil
	}
	return func(dir string, calls []event.Content) (out []settle.Instruction) {
		var at []string
		for _, c := range calls {
			at = append(at, placesOf(dir, c)...)
		}
		if len(at) == 0 {
			return nil
		}
		for _, one := range prompt.Nested(o.reads(o.Settings.Trust.Project(dir)), at) {
			out = append(out, settle.Instruction(one))
		}
		return out
	}
}

// InstructionFiles returns the files of instructions on this machine that the system prompt has.
func (o Options) InstructionFiles() []string {
	return prompt.Build(o.promptSources(o.Settings.Executor == "")).Files
}

// InstructionNotes states which files of instructions the system prompt does not have, and why.
func (o Options) InstructionNotes() []string {
	return prompt.Build(o.promptSources(o.Settings.Executor == "")).Notes
}

// MissingInstructions states which instructions and skills the model does not receive, and why.
func (a *Agent) MissingInstructions() []string { return a.system.Notes }

// reads returns the sources of instructions.
func (o Options) reads(project repo.Project) prompt.Sources {
	return prompt.Sources{Project: project, Home: o.Getenv("HOME"), Secret: policy.Secret}
}

// instructionFiles are the user's own instruction files: settle's, or else the files of
// Claude Code (https://code.claude.com/docs/en/memory) and of Codex, which prefers the
// first of its two (https://developers.openai.com/codex/guides/agents-md).
func (o Options) instructionFiles() [][]string {
	if o.Home == IgnoreHome || o.Instructions == IgnoreHome {
		return nil
	}
	from := skills.UserSources(o.Settings.UserFile, o.Getenv)
	in := func(dir, name string) string {
		if dir == "" {
			return ""
		}
		return filepath.Join(dir, name)
	}
	if own := in(from.Config, "AGENTS.md"); own != "" {
		if _, err := os.Lstat(own); err == nil {
			return [][]string{{own}}
		}
	}
	return [][]string{
		{in(from.Claude, "CLAUDE.md")},
		{in(from.Codex, "AGENTS.override.md"), in(from.Codex, "AGENTS.md")},
	}
}

// placesOf returns the absolute files and folders of a call: the paths in its arguments and
// its detail, and the words of a command that name a path.
func placesOf(dir string, c event.Content) (out []string) {
	var args struct {
		Path    string `json:"path"`
		Workdir string `json:"workdir"`
		Command string `json:"command"`
	}
	var detail struct {
		Read  struct{ Path string }   `json:"read"`
		Files []struct{ Path string } `json:"files"`
	}
	_ = json.Unmarshal([]byte(c.Arguments), &args) // unreadable arguments name no path
	_ = json.Unmarshal(c.Detail, &detail)
	named := []string{args.Path, args.Workdir, detail.Read.Path}
	for _, f := range detail.Files {
		named = append(named, f.Path)
	}
	for _, path := range named {
		if path != "" {
			out = append(out, disk.AbsoluteIn(dir, path))
		}
	}
	from := dir
	if args.Workdir != "" {
		from = disk.AbsoluteIn(dir, args.Workdir)
	}
	return append(out, wordsIn(from, args.Command)...)
}

// maxWords bounds the words of a command that are checked.
const maxWords = 60

// wordsIn returns the existing paths among a command's words: cd web && go test ./x/...
// names web and x, or web/x. It follows cd and interprets nothing else.
func wordsIn(dir, command string) (out []string) {
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>\"'`=,", r) })
	for n, word := range words[:min(len(words), maxWords)] {
		word = strings.TrimSuffix(strings.TrimSuffix(word, "..."), "/")
		if word == "" || strings.HasPrefix(word, "-") || !filepath.IsLocal(word) && !filepath.IsAbs(word) {
			continue
		}
		path := disk.AbsoluteIn(dir, word)
		if info, err := os.Lstat(path); err == nil && path != dir {
			out = append(out, path)
			if n > 0 && words[n-1] == "cd" && info.IsDir() {
				dir = path
			}
		}
	}
	return out
}
