package tui

import (
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/client/files"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// mostFound is how many completions are offered, and mostShown how many of
	// them are on the screen.
	mostFound = 50
	mostShown = 8
	// staleDelay is how old a list of files may be for a new word.
	staleDelay = 5 * time.Second
)

// completion is what a word before the cursor could become: a path after "@",
// a command after "/".
type completion struct {
	from    int    // the part of the editor where the word begins
	words   string // the word without its mark
	command bool
	list    list
}

// fileList is what was read of the directory.
type fileList struct {
	files  *files.List
	readAt time.Time
	busy   bool
}

// wordBefore returns the word that ends at the cursor and where it begins.
func (e *editor) wordBefore() (word string, from int) {
	from = e.at
	for from > 0 && !e.parts[from-1].folded && strings.TrimSpace(e.parts[from-1].text) != "" {
		from--
	}
	return joinParts(e.parts[from:e.at]), from
}

// complete offers completions for the word that is being typed.
func (f *Face) complete() {
	word, from := f.editor.wordBefore()
	words, isFile := strings.CutPrefix(word, "@")
	name, isCommand := strings.CutPrefix(word, "/")
	if word == "@" || word == "/" {
		f.dismissed = 0
	}
	switch {
	case f.dismissed == from+1:
		f.completion = nil
		return
	case isCommand && from == 0 && isName(name):
		f.completion = &completion{words: name, command: true, list: list{choices: f.commandChoices(name)}}
	case isFile:
		c := &completion{from: from, words: strings.TrimPrefix(words, `"`)}
		if old := f.completion; old != nil && !old.command && old.from == from {
			c.list = old.list // until there are others
		}
		f.completion = c
		f.findFiles()
	default:
		f.completion = nil
	}
	f.dismissed = 0
}

// findFiles looks for files beside the loop: one look at a time.
func (f *Face) findFiles() {
	if f.files.busy {
		return
	}
	f.files.busy = true
	words, known, dir := f.completion.words, f.files.files, f.state().Host.Dir
	if time.Since(f.files.readAt) > staleDelay && words == "" {
		known = nil
	}
	go f.guarded(func() { // ends within the bounds of a walk
		read := known
		if read == nil {
			read = files.Read(f.ctx, dir)
		}
		found := read.Match(words, mostFound)
		f.send(func() {
			if f.files.busy = false; known == nil {
				f.files.files, f.files.readAt = read, time.Now()
			}
			f.foundFiles(words, found)
		})
	})
}

func (f *Face) foundFiles(words string, found []string) {
	c := f.completion
	if c == nil || c.command {
		return
	}
	if c.words != words { // more was typed meanwhile
		f.findFiles()
		return
	}
	c.list = list{}
	for _, path := range found {
		c.list.choices = append(c.list.choices, choice{id: path, label: path})
	}
	f.dirty = true
}

// commandChoices are the commands that begin with the name, then those that
// contain it.
func (f *Face) commandChoices(name string) (out []choice) {
	var others []choice
	for _, s := range f.commands() {
		c := choice{id: s.name, label: strings.TrimSpace("/" + s.name + " " + s.argument), detail: s.help}
		switch at := strings.Index(s.name, name); {
		case at == 0:
			out = append(out, c)
		case at > 0:
			others = append(others, c)
		}
	}
	return append(out, others...)
}

// completionKey moves among the completions or takes one, and reports whether the
// key did.
func (f *Face) completionKey(k terminal.Key) bool {
	c := f.completion
	if c == nil || len(c.list.choices) == 0 {
		return false
	}
	switch k.Name {
	case "up", "ctrl+p":
		c.list.move(-1)
	case "down", "ctrl+n":
		c.list.move(1)
	case "tab":
		f.accept(c)
	case "enter":
		if c.list.selected().id == c.words && !c.command { // it is there already: it is sent
			f.completion = nil
			return false
		}
		f.accept(c)
		if name := c.list.selected().id; c.command && !f.needsArgument(name) {
			return false // it is run
		}
	case "esc":
		f.completion, f.dismissed = nil, c.from+1
		return f.shown.turn == "" // else it interrupts
	default:
		return false
	}
	return true
}

// accept puts the chosen completion in the place of the word.
func (f *Face) accept(c *completion) {
	word := c.list.selected().id
	if c.from > f.editor.at { // the text was replaced
		f.completion = nil
		return
	}
	switch {
	case c.command:
		word = "/" + word
		if f.takesArgument(c.list.selected().id) {
			word += " "
		}
	case strings.ContainsAny(word, " \t"):
		word = `@"` + word + `" `
	case strings.HasSuffix(word, "/"):
		word = "@" + word
	default:
		word = "@" + word + " "
	}
	f.completion = nil
	e := &f.editor
	e.remove(c.from, e.at)
	e.insert(partsOf(word)...)
	if strings.HasSuffix(word, "/") && !c.command { // what is in the directory
		f.complete()
	}
}

func (f *Face) commandNamed(name string) (slash, bool) {
	all := f.commands()
	if n := slices.IndexFunc(all, func(s slash) bool { return s.name == name }); n >= 0 {
		return all[n], true
	}
	return slash{}, false
}

func (f *Face) takesArgument(name string) bool {
	s, _ := f.commandNamed(name)
	return s.argument != ""
}

func (f *Face) needsArgument(name string) bool {
	s, _ := f.commandNamed(name)
	return s.argument != "" && !strings.HasPrefix(s.argument, "[")
}
