package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// mostText bounds a file in bytes, and mostFiles how many are read.
	mostText  = 256 << 10
	mostFiles = 500
	extension = ".md"
)

// Command is a prompt that has a name.
type Command struct {
	Name string
	// About says what it does; it is the first line of the text if the file does
	// not say. Hint names its arguments, and is empty if it takes none.
	About, Hint string

	text string
}

// Read returns the commands in a directory, in the order of their names. Those of
// a directory in it have its name before theirs, with a colon between. One that cannot be used is
// left out, and the error says why. Without the directory, there are none.
func Read(dir string) (list []Command, err error) {
	if dir == "" {
		return nil, nil
	}
	var problems []error
	seen := 0
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // each problem is kept
		switch {
		case err != nil:
			if path != dir || !errors.Is(err, fs.ErrNotExist) {
				problems = append(problems, err)
			}
			return nil
		case seen >= mostFiles:
			return fs.SkipAll
		case d.IsDir() || filepath.Ext(path) != extension:
			return nil
		}
		seen++
		c, err := read(dir, path)
		if err != nil {
			problems = append(problems, err)
			return nil
		}
		list = append(list, c)
		return nil
	})
	slices.SortFunc(list, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return list, errors.Join(problems...)
}

func read(dir, path string) (Command, error) {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return Command{}, err
	}
	name := strings.ReplaceAll(strings.TrimSuffix(filepath.ToSlash(rel), extension), "/", ":")
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_:") != "" {
		return Command{}, fmt.Errorf("cannot use %q as a command: its name may have small letters, digits, - and _", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return Command{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostText {
		return Command{}, fmt.Errorf("cannot use %q as a command: it is not a file of at most %d bytes", path, mostText)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Command{}, err
	}
	c := parse(strings.ToValidUTF8(strings.ReplaceAll(string(data), "\r\n", "\n"), "\uFFFD"))
	if c.Name = name; strings.TrimSpace(c.text) == "" {
		return Command{}, fmt.Errorf("cannot use %q as a command: it says nothing", path)
	}
	return c, nil
}

// parse takes a file's head off.
func parse(text string) (c Command) {
	c.text = strings.TrimSpace(text)
	if head, ok := strings.CutPrefix(text, "---\n"); ok {
		if head, rest, closed := strings.Cut(head, "\n---\n"); closed {
			c.text = strings.TrimSpace(rest)
			c.About, c.Hint = field(head, "description"), field(head, "argument-hint")
		}
	}
	if c.About == "" {
		c.About, _, _ = strings.Cut(c.text, "\n")
		c.About = strings.TrimSpace(strings.TrimLeft(c.About, "# "))
	}
	if c.Hint == "" && c.takes() {
		c.Hint = "[ARGUMENTS]"
	}
	return c
}

func field(head, name string) string {
	for line := range strings.SplitSeq(head, "\n") {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// takes reports whether the text has places for arguments.
func (c Command) takes() bool { return strings.Contains(c.text, "$ARGUMENTS") || c.numbered() }

func (c Command) numbered() bool {
	for n := 1; n <= 9; n++ {
		if strings.Contains(c.text, fmt.Sprintf("$%d", n)) {
			return true
		}
	}
	return false
}

// Expand returns the prompt with the arguments in their places: all of them for
// $ARGUMENTS, one word for $1 to $9. Where there is no place, they stand at the end.
func (c Command) Expand(arguments string) string {
	arguments = strings.TrimSpace(arguments)
	if !c.takes() {
		if arguments == "" {
			return c.text
		}
		return c.text + "\n\n" + arguments
	}
	words := strings.Fields(arguments)
	pairs := []string{"$ARGUMENTS", arguments}
	for n := 1; n <= 9; n++ {
		word := ""
		if n <= len(words) {
			word = words[n-1]
		}
		pairs = append(pairs, fmt.Sprintf("$%d", n), word)
	}
	return strings.NewReplacer(pairs...).Replace(c.text)
}
