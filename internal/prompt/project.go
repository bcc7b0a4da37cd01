package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/repo"
)

const (
	maxFile  = 32 << 10 // bytes of one file
	maxFiles = 64 << 10 // bytes of all files
)

// instruction is one file of the project that speaks to agents.
type instruction struct {
	path string
	text string // cut to its bound
	size int64  // of the file
}

// project returns the section with the project's instructions. The nearest
// file gets its room first, since it says what matters most here.
func (p *Prompt) project(from repo.Project) string {
	room := maxFiles
	var found []instruction
	for _, at := range slices.Backward(from.Dirs) {
		one, ok := p.instruction(from, at)
		if !ok || slices.ContainsFunc(found, func(other instruction) bool { return other.text == one.text }) {
			continue
		}
		if len(one.text) > room {
			one.text = cutAtLine(one.text, room)
		}
		room -= len(one.text)
		found = append(found, one)
	}
	if len(found) == 0 {
		return ""
	}
	slices.Reverse(found)
	var b strings.Builder
	b.WriteString("# The project's instructions\n\nThe later ones are nearer to the working directory and win.\n")
	for _, one := range found {
		p.Files = append(p.Files, one.path)
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", oneLine(one.path), strings.TrimSpace(one.text))
		if int64(len(one.text)) < one.size {
			fmt.Fprintf(&b, "\n[Cut here, after %d of %d bytes. Read the file if you need the rest.]\n", len(one.text), one.size)
			p.Notes = append(p.Notes, fmt.Sprintf("%s is cut in the prompt: %d of %d bytes", one.path, len(one.text), one.size))
		}
	}
	return b.String()
}

// instruction reads AGENTS.md of a directory, or CLAUDE.md if there is none.
func (p *Prompt) instruction(from repo.Project, dir string) (instruction, bool) {
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		path := filepath.Join(dir, name)
		one, err := read(from, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			p.Notes = append(p.Notes, fmt.Sprintf("%s was left out: %v", path, err))
			return instruction{}, false
		}
		return one, strings.TrimSpace(one.text) != ""
	}
	return instruction{}, false
}

// read follows links only within the repository: another's repository must
// not be able to put a private file of the user into a prompt.
func read(from repo.Project, path string) (instruction, error) {
	actual, err := filepath.EvalSymlinks(path)
	if err != nil {
		return instruction{}, err
	}
	home, err := filepath.EvalSymlinks(from.Dirs[0])
	if err != nil {
		return instruction{}, err
	}
	if inside, err := filepath.Rel(home, actual); err != nil || !filepath.IsLocal(inside) {
		return instruction{}, fmt.Errorf("it is a link out of the project, to %q", actual)
	}
	data, size, err := from.ReadFile(actual, maxFile+1)
	if err != nil {
		return instruction{}, err
	}
	if bytes.ContainsRune(data, 0) {
		return instruction{}, errors.New("it is not text")
	}
	text := string(data)
	if len(text) > maxFile {
		text = cutAtLine(text, maxFile)
		return instruction{path, clean(text), size}, nil
	}
	// Cleaning may change the length; the file is whole all the same.
	text = clean(text)
	return instruction{path, text, int64(len(text))}, nil
}

// cutAtLine returns at most limit bytes of text, in whole lines if it has any.
func cutAtLine(text string, limit int) string {
	text = text[:limit]
	if at := strings.LastIndexByte(text, '\n'); at >= 0 {
		return text[:at+1]
	}
	return strings.ToValidUTF8(text, "")
}
