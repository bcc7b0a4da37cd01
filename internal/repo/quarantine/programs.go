package quarantine

import (
	"slices"
	"strings"
)

// commandKeys are the keys whose value git passes to a shell or starts as a program, in any
// section. Keys of other programs have such names as well.
const commandKeys = ` alternaterefscommand askpass clean cmd command defaultkeycommand difffilter driver editor external
	fsmonitor gitproxy helper httpd packobjectshook pager process program receivepack smudge sshcommand
	textconv tunnel uploadpack `

// starters are the words before the name of a program or script.
const starters = ` . bash bun command dash deno do elif else env eval exec fish if ksh nice node nohup perl php python
	python3 ruby sh source sudo then time timeout while xargs zsh `

// isCommand reports whether the value is a command.
func (v variable) isCommand() bool {
	is := func(list, name string) bool { return slices.Contains(strings.Fields(list), name) }
	return strings.HasPrefix(v.value, "!") || v.section == "pager" || is(commandKeys, v.key) ||
		v.key == "path" && is("browser customtransfer difftool guitool lfs man mergetool", v.section)
}

// atTop replaces the forms in which a command names the top of the work tree.
func atTop(value, top string) string {
	return strings.NewReplacer(
		"$(git rev-parse --show-toplevel)", top, "`git rev-parse --show-toplevel`", top, "$PWD", top, "${PWD}", top,
	).Replace(value)
}

// programs returns the paths of the programs and scripts that a command starts, whether they
// exist or not, as far as they need no shell to be known. It follows cd.
func (v variable) programs(top, home string) (list []string) {
	if _, ok := v.harmless(); ok || !v.isCommand() {
		return nil
	}
	const (
		starting = iota // a program follows
		script          // a program or a script follows
		entering        // a folder follows
		words           // words of the program follow
	)
	dir, state, starter := top, starting, ""
	shells := []string{"bash", "dash", "fish", "ksh", "sh", "zsh"}
	known := func(word string) bool { return !strings.ContainsAny(word, "$*?[%<>") && !strings.Contains(word, "://") }
	next := func(word string) {
		switch first, _, _ := strings.Cut(word, "="); {
		case word == "" || state == words:
		case state == entering:
			state = words
			if known(word) {
				dir = absolute(dir, word, home)
			}
		case first != word && !strings.Contains(first, "/"): // a variable
		case state == script && word == "-m", state == script && word == "-e" && !slices.Contains(shells, starter):
			state = words // a module, or code
		case state == script && strings.HasPrefix(word, "-"):
		case word == "cd":
			state = entering
		case slices.Contains(strings.Fields(starters), word):
			state, starter = script, word
		default:
			if known(word) && (strings.Contains(word, "/") || state == script) {
				list = append(list, absolute(dir, word, home))
			}
			state = words
		}
	}
	word := ""
	for _, r := range atTop(v.value, top) {
		switch {
		case strings.ContainsRune("\"'\\", r): // words in quotes count as words
		case strings.ContainsRune(" \t", r):
			next(word)
			word = ""
		case strings.ContainsRune("\n!;&|(){}`", r):
			next(word)
			word, state = "", starting
		default:
			word += string(r)
		}
	}
	next(word)
	return list
}
