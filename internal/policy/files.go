package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/proc"
)

// namedFile is a regular file that a word of a command names.
type namedFile struct{ word, real string }

// changeableFiles returns the words of a call, except of git, that name files of the working
// directory: a program by its path, or a script that a program runs.
func (c toolCall) changeableFiles() (list []namedFile) {
	at := filepath.Clean(absolute(c.workspace.dir, c.Workdir))
	for _, command := range c.simple {
		dir := filepath.Clean(absolute(at, command.Start))
		if _, isGit := gitCommand(dir, command.Words); isGit {
			continue
		}
		for i, word := range command.Words {
			if i == 0 && !strings.Contains(word.Text, "/") {
				continue
			}
			place, err := c.workspace.locate(absolute(dir, word.Text))
			if err != nil || !place.inside {
				continue
			}
			if info, err := os.Lstat(place.real); err == nil && info.Mode().IsRegular() {
				list = append(list, namedFile{word.Text, place.real})
			}
		}
	}
	return list
}

// maxNamedFile bounds the bytes of a file that is identified by its content.
const maxNamedFile = 64 << 20

// filesOf returns a hash of the programs and scripts of a command that sandboxed commands can change:
// their names, contents and rights. It is empty if there are none.
func (p *Policy) filesOf(c toolCall) string {
	if c.tool != "shell" {
		return ""
	}
	list := c.changeableFiles()
	for _, e := range c.effects {
		if len(e.words) == 0 {
			continue
		}
		name := e.words[0].Text
		if file, _ := proc.ChangeableProgram(name, p.variable("PATH")); file != "" {
			list = append(list, namedFile{name, file})
		}
	}
	if len(list) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, f := range list {
		fmt.Fprintf(sum, "%q %q %q\n", f.word, f.real, disk.IdentifyPath(f.real, maxNamedFile))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
