package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/proc"
)

// namedFile is a regular file that a word of a command names.
type namedFile struct{ word, real string }

// changeableFiles returns the words of a call that name files of the working directory: a program by
// its path, or a script that a program runs; of git, see gitFiles.
func (c toolCall) changeableFiles() (list []namedFile) {
	at := filepath.Clean(absolute(c.workspace.dir, c.Workdir))
	for _, command := range c.simple {
		dirs, words := []string{filepath.Clean(absolute(at, command.Start))}, []string{}
		g, isGit := gitCommand(dirs[0], command.Words)
		switch {
		case isGit && command.Why == "":
		case isGit: // git runs programs in the top folder of a work tree, too
			dirs, words = []string{g.dir, c.workspace.dir}, g.gitFiles()
		default:
			for i, word := range command.Words {
				if i > 0 || strings.Contains(word.Text, "/") {
					words = append(words, word.Text)
				}
			}
		}
		for _, word := range words {
			for _, dir := range dirs {
				place, err := c.workspace.locate(absolute(dir, word))
				if err != nil || !place.inside {
					continue
				}
				if info, err := os.Lstat(place.real); err == nil && info.Mode().IsRegular() {
					list = append(list, namedFile{word, place.real})
				}
			}
		}
	}
	return list
}

// gitFiles returns the parts of a git command that can name a program, a script or an input: of options
// before the subcommand and of unknown ones, and all words of "am", "apply" and unknown subcommands.
func (g gitCall) gitFiles() (list []string) {
	words := slices.Clone(g.head)
	a, known := g.arguments()
	if !known || g.name == "am" || g.name == "apply" {
		words = append(words, g.args...)
	} else {
		for i, word := range g.args {
			if slices.Contains(a.unknown, word) {
				words = append(words, g.args[i:min(i+2, len(g.args))]...)
			}
		}
	}
	for _, word := range words {
		list = append(list, strings.FieldsFunc(word, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune(`=!;|&<>()"'`+"`", r)
		})...)
		if len(word) > 2 && word[0] == '-' && word[1] != '-' {
			list = append(list, word[2:])
		}
	}
	return list
}

// changeablePrograms returns the programs of a call that PATH leads to and that sandboxed commands can
// change. shadows reports whether one of them takes the place of another program.
func (p *Policy) changeablePrograms(c toolCall) (list []namedFile, shadows bool) {
	for _, e := range c.effects {
		if len(e.words) == 0 {
			continue
		}
		name := e.words[0].Text
		if file, hides := proc.ChangeableProgram(name, p.variable("PATH")); file != "" {
			list, shadows = append(list, namedFile{name, file}), shadows || hides
		}
	}
	return list, shadows
}

// maxNamedFile bounds the bytes of a file that is identified by its content.
const maxNamedFile = 64 << 20

// filesOf returns a hash of the programs and scripts of a command that sandboxed commands can change:
// their names, contents and rights. It is empty if there are none.
func (p *Policy) filesOf(c toolCall) string {
	if c.tool != "shell" {
		return ""
	}
	programs, _ := p.changeablePrograms(c)
	list := append(c.changeableFiles(), programs...)
	if len(list) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, f := range list {
		fmt.Fprintf(sum, "%q %q %q\n", f.word, f.real, disk.IdentifyPath(f.real, maxNamedFile))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
