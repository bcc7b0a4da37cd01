package tui

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/client/files"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

const (
	// maxFound is the number of offered completions, and maxShown the number of completions on the
	// screen.
	maxFound = 50
	maxShown = 8
	// staleDelay is the age at which a list of files is replaced for a new word.
	staleDelay = 5 * time.Second
)

// completion is the possible completions of the word before the cursor: a path after "@", a
// command after "/".
type completion struct {
	from    int    // the part of the editor where the word begins
	words   string // the word without its mark
	command bool
	list    list
	// searched reports that the list is complete: without choices, nothing has these letters.
	searched bool
}

// rows returns the list of completions, or that nothing has the letters of the word.
func (c *completion) rows(width, limit int) []terminal.Line {
	if !c.searched || len(c.list.choices) > 0 || limit < 1 {
		return c.list.rows(width, limit)
	}
	words := "  no file has these letters"
	if c.command {
		words = "  no command has these letters"
	}
	return []terminal.Line{terminal.Clip(terminal.Plain(words, faint()), width)}
}

// fileList is the files of the directory, as read last.
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
func (u *UI) complete() {
	word, from := u.input.editor.wordBefore()
	words, isFile := strings.CutPrefix(word, "@")
	name, isCommand := strings.CutPrefix(word, "/")
	if word == "@" || word == "/" {
		u.input.dismissedAt = 0
	}
	switch {
	case u.input.dismissedAt == from+1:
		u.input.completion = nil
		return
	case isCommand && from == 0 && isName(name):
		u.input.completion = &completion{
			words: name, command: true, searched: true, list: list{choices: u.commandChoices(name)},
		}
	case isFile:
		c := &completion{from: from, words: strings.TrimPrefix(words, `"`)}
		if old := u.input.completion; old != nil && !old.command && old.from == from {
			c.list, c.searched = old.list, old.searched // until there are others
		}
		u.input.completion = c
		u.findFiles()
	default:
		u.input.completion = nil
	}
	u.input.dismissedAt = 0
}

// findFiles looks for files beside the loop: one look at a time.
func (u *UI) findFiles() {
	if u.input.files.busy {
		return
	}
	u.input.files.busy = true
	words, known, dir := u.input.completion.words, u.input.files.files, u.state().Host.Dir
	if time.Since(u.input.files.readAt) > staleDelay && words == "" {
		known = nil
	}
	go u.guarded(func() { // ends within the bounds of a walk
		read := known
		if read == nil {
			read = files.Read(u.ctx, dir)
		}
		found := read.Match(words, maxFound)
		u.send(func() {
			if u.input.files.busy = false; known == nil {
				u.input.files.files, u.input.files.readAt = read, time.Now()
			}
			u.foundFiles(words, found)
		})
	})
}

func (u *UI) foundFiles(words string, found []string) {
	c := u.input.completion
	if c == nil || c.command {
		return
	}
	if c.words != words { // the word is longer or shorter now
		u.findFiles()
		return
	}
	c.list, c.searched = list{}, true
	for _, path := range found {
		c.list.choices = append(c.list.choices, choice{id: path, label: path, detail: kindOf(path)})
	}
	u.display.dirty = true
}

// kindOf describes a path that is no ordinary file.
func kindOf(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return "image, attached"
	}
	if strings.HasSuffix(path, "/") {
		return "folder"
	}
	return ""
}

// commandChoices returns the commands that begin with the name, then commands that contain it, then
// commands that have its letters in their order; in each group, commands in use come first. Names
// of other agents' commands come last. A complete name of another agent's command comes first, and
// leaves out the commands that only contain the name or its letters.
func (u *UI) commandChoices(name string) (out []choice) {
	var found [3][]choice
	for _, s := range u.commands() {
		c := choice{id: s.name, label: strings.TrimSpace("/" + s.name + " " + s.argument), detail: s.help}
		switch at := strings.Index(s.name, name); {
		case at == 0:
			found[0] = append(found[0], c)
		case at > 0:
			found[1] = append(found[1], c)
		case hasLetters(s.name, name):
			found[2] = append(found[2], c)
		}
	}
	if isForeign(name) {
		found[1], found[2] = nil, nil
	}
	use := u.commandUse()
	for _, some := range found {
		slices.SortStableFunc(some, func(a, b choice) int { return use[b.id] - use[a.id] })
		out = append(out, some...)
	}
	for _, c := range foreignChoices(name) {
		switch {
		case slices.ContainsFunc(out, func(own choice) bool { return own.id == c.id }):
		case c.id == name:
			out = slices.Insert(out, 0, c)
		default:
			out = append(out, c)
		}
	}
	return out
}

// commandUse ranks commands: the last used commands highest, then the commands that most people
// use.
func (u *UI) commandUse() map[string]int {
	use := map[string]int{}
	usual := strings.Fields("model permissions resume new rewind diff compact cost effort help")
	for n, name := range usual {
		use[name] = len(usual) - n
	}
	for n, text := range u.input.history.texts {
		if name, _, ok := commandOf(text); ok {
			use[name] = len(usual) + 1 + n
		}
	}
	return use
}

// completionKey moves among the completions, takes one or closes their list, and reports whether the
// key did. Esc closes the list and does nothing else: a turn that runs continues.
func (u *UI) completionKey(k terminal.Key) bool {
	c := u.input.completion
	switch {
	case c == nil || len(c.list.choices) == 0 && !c.searched:
		return false
	case k.Name == "esc":
		u.input.completion, u.input.dismissedAt = nil, c.from+1
		return true
	case len(c.list.choices) == 0:
		return false
	case c.list.key(k.Name):
		return true
	}
	switch k.Name {
	case "tab":
		u.accept(c)
	case "enter":
		if c.list.selected().id == c.words && !c.command { // it is there already: it is sent
			u.input.completion = nil
			return false
		}
		u.accept(c)
		name := c.list.selected().id
		if c.command && strings.HasPrefix(name, c.words) && !u.needsArgument(name) {
			// It is run, unless the key begins a line; one that only has the letters was not meant for sure.
			return u.Keys.Action(keymap.Prompt, k.Name) == keymap.Newline
		}
	default:
		return false
	}
	return true
}

// accept replaces the word by the chosen completion.
func (u *UI) accept(c *completion) {
	word := c.list.selected().id
	if c.from > u.input.editor.at { // the text was replaced
		u.input.completion = nil
		return
	}
	switch {
	case c.command:
		word = "/" + word
		if u.takesArgument(c.list.selected().id) {
			word += " "
		}
	case strings.ContainsAny(word, " \t"):
		word = `@"` + word + `" `
	case strings.HasSuffix(word, "/"):
		word = "@" + word
	default:
		word = "@" + word + " "
	}
	u.input.completion = nil
	e := &u.input.editor
	e.remove(c.from, e.at)
	e.insert(partsOf(word)...)
	if strings.HasSuffix(word, "/") && !c.command { // offer the directory's files
		u.complete()
	}
}

// commandNamed returns the command of the name, or of an alias.
func (u *UI) commandNamed(name string) (slash, bool) {
	all := u.commands()
	for _, name := range []string{name, aliases()[name]} {
		if n := slices.IndexFunc(all, func(s slash) bool { return s.name == name }); n >= 0 {
			return all[n], true
		}
	}
	return slash{}, false
}

func (u *UI) takesArgument(name string) bool {
	s, _ := u.commandNamed(name)
	return s.argument != ""
}

func (u *UI) needsArgument(name string) bool {
	s, _ := u.commandNamed(name)
	return s.argument != "" && !strings.HasPrefix(s.argument, "[")
}
