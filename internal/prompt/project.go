package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/repo"
)

const (
	maxFile  = 32 << 10 // bytes of one file
	maxFiles = 64 << 10 // bytes of all files together
)

// Sources are the files that a prompt can contain and import.
type Sources struct {
	// Project limits the project's files; the zero value excludes all of them.
	Project repo.Project
	// Home replaces "~" in imports; can be empty.
	Home string
	// Secret, if set, reports whether a file's path indicates secrets. Such files are not
	// imported.
	Secret func(path string) bool
}

// instruction is one file of instructions.
type instruction struct {
	path string
	by   string // the file that imports this file; empty for none
	text string // cut to its limit
	size int64  // size of the file
}

// whose is the owner of a file.
type whose string

const (
	ofProject whose = "project"
	ofUser    whose = "user"
)

// names are the names of instruction files in a directory. Only the first file with content
// in each list counts. AGENTS.override.md belongs to Codex, CLAUDE.local.md to Claude Code.
func names() [][]string {
	return [][]string{{"AGENTS.override.md", "AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"}, {"CLAUDE.local.md"}}
}

var (
	// errSeen: the prompt already contains the file.
	errSeen   = errors.New("it was read before")
	errSecret = errors.New("by its name it holds secrets")
)

// user returns the section with the user's own instructions.
func (p *Prompt) user(o Options) string {
	list := p.first(o.Sources, ofUser, o.User)
	return p.section(
		"# The user's own instructions\n\nThey hold for every project. Where the project's contradict them, those win.\n",
		[][]instruction{list},
	)
}

// project returns the section with the project's instructions. The groups begin with the
// nearest directory.
func (p *Prompt) project(from Sources) string {
	var groups [][]instruction
	for _, at := range slices.Backward(from.Project.Dirs) {
		groups = append(groups, slices.Concat(p.directory(from, at), p.rules(from, at, nil, true)))
	}
	return p.section("# The project's instructions\n\nThe later ones are nearer to the working directory and win.\n",
		groups)
}

// section writes groups of instructions, the last group first. It allocates room to the
// first group first, because the nearest instructions matter most.
func (p *Prompt) section(head string, groups [][]instruction) string {
	room := bound.NewBudget(maxFiles)
	var kept [][]instruction
	var found []instruction
	for _, group := range groups {
		var some []instruction
		for _, one := range group {
			if slices.ContainsFunc(found, func(earlier instruction) bool { return earlier.text == one.text }) {
				continue
			}
			one.text = cutAtLine(one.text, room.Left())
			room.Take(len(one.text))
			found, some = append(found, one), append(some, one)
		}
		kept = append(kept, some)
	}
	if len(found) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(head)
	for _, group := range slices.Backward(kept) {
		for _, one := range group {
			p.Files = append(p.Files, one.path)
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", one.title(), one.content())
			if int64(len(one.text)) < one.size {
				p.Notes = append(p.Notes, fmt.Sprintf("%s is cut in the prompt: %d of %d bytes", one.path,
					len(one.text), one.size))
			}
		}
	}
	return b.String()
}

// title names the file and the file that imports it.
func (i instruction) title() string {
	if i.by == "" {
		return oneLine(i.path)
	}
	return fmt.Sprintf("%s (imported by %s)", oneLine(i.path), oneLine(i.by))
}

// content is the text with a mark where it was cut.
func (i instruction) content() string {
	text := strings.TrimSpace(i.text)
	if int64(len(i.text)) < i.size {
		text += fmt.Sprintf("\n\n[Cut here, after %d of %d bytes. Read the file if you need the rest.]", len(i.text),
			i.size)
	}
	return text
}

// directory reads the instructions of a directory and their imports.
func (p *Prompt) directory(from Sources, dir string) []instruction {
	lists := names()
	for _, list := range lists {
		for n, name := range list {
			list[n] = filepath.Join(dir, filepath.FromSlash(name))
		}
	}
	return p.first(from, ofProject, lists)
}

// first reads the first file with content of each list, and its imports.
func (p *Prompt) first(from Sources, of whose, lists [][]string) (out []instruction) {
	for _, list := range lists {
		for _, path := range list {
			one, err := p.read(from, of, path)
			if path == "" || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if errors.Is(err, errSeen) {
				break
			}
			if err != nil {
				p.Notes = append(p.Notes, fmt.Sprintf("%s was left out: %v", path, err))
				break
			}
			if strings.TrimSpace(one.text) != "" {
				out = append(append(out, one), p.imported(from, of, one, maxHops)...)
				break
			}
		}
	}
	return out
}

// source is a file after its links were followed: the checks and the read use the same
// file.
type source struct {
	disk.Place

	inside bool      // the file belongs to the project
	file   repo.File // set if inside is set
}

// find follows the links of a path, once.
func (s Sources) find(path string) (source, error) {
	place, err := disk.Locate(filepath.Dir(path), path, nil)
	if err != nil {
		return source{}, err
	}
	file, err := s.Project.Of(place)
	return source{place, err == nil, file}, nil
}

// read reads a file once. It follows links of a project only within the project: a hostile
// repository must not put a private file of the user into a prompt.
func (p *Prompt) read(from Sources, of whose, path string) (instruction, error) {
	if path == "" {
		return instruction{}, fs.ErrNotExist
	}
	f, err := from.find(path)
	if err != nil {
		return instruction{}, err
	}
	return p.readFound(from, of, f)
}

func (p *Prompt) readFound(from Sources, of whose, f source) (instruction, error) {
	if p.seen[f.Real] {
		return instruction{}, errSeen
	}
	data, size, err := from.content(of, f)
	if err != nil {
		return instruction{}, err
	}
	if bytes.ContainsRune(data, 0) {
		return instruction{}, errors.New("it is not text")
	}
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[f.Real] = true
	text := string(data)
	if len(text) > maxFile {
		return instruction{path: f.Named, text: clean(cutAtLine(text, maxFile)), size: size}, nil
	}
	// clean can change the length; the file counts as whole if it was read whole.
	text = clean(text)
	return instruction{path: f.Named, text: text, size: int64(len(text))}, nil
}

// content returns the beginning of a file, and its size.
func (s Sources) content(of whose, f source) (data []byte, size int64, err error) {
	switch {
	case of != ofProject:
		return f.Read(maxFile + 1)
	case !f.inside:
		if _, err := os.Lstat(f.Named); err != nil {
			return nil, 0, err // there is no such file
		}
		return nil, 0, &repo.OutsideError{Real: f.Real}
	case s.Secret != nil && s.Secret(f.file.Name):
		return nil, 0, errSecret
	}
	return s.Project.Read(f.file, maxFile+1)
}

// cutAtLine returns at most limit bytes of text, in whole lines if it has any.
func cutAtLine(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = bound.Head(text, limit)
	if at := strings.LastIndexByte(text, '\n'); at >= 0 {
		return text[:at+1]
	}
	return text
}
