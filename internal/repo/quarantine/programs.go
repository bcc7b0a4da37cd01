package quarantine

import (
	"path/filepath"
	"slices"
	"strings"
)

// commandKeys are the keys whose value git passes to a shell or starts as a program, in any
// section. Keys of other programs have such names as well.
const commandKeys = ` alternaterefscommand askpass cccmd clean cmd command defaultkeycommand difffilter driver editor
	external fsmonitor gitproxy headercmd helper httpd packobjectshook pager process program receivepack
	recentobjectshook sendmailcmd smudge sshcommand textconv tocmd tunnel uploadpack `

// isCommand reports whether the value is a command.
func (v variable) isCommand() bool {
	is := func(list, name string) bool { return slices.Contains(strings.Fields(list), name) }
	return strings.HasPrefix(v.value, "!") || v.section == "pager" || is(commandKeys, v.key) ||
		v.key == "path" && is("browser customtransfer difftool guitool lfs man mergetool", v.section) ||
		v.section == "sendemail" && v.key == "smtpserver" && filepath.IsAbs(v.value) // else a host
}

// atTop replaces the forms in which a command names the top of the work tree.
func atTop(value, top string) string {
	return strings.NewReplacer(
		"$(git rev-parse --show-toplevel)", top, "`git rev-parse --show-toplevel`", top, "$PWD", top, "${PWD}", top,
	).Replace(value)
}

// programs returns the paths of the programs and scripts that a command starts, whether they
// exist or not. isCertain is false if the command can start files that are missing in the list. A
// word that could be something else than a program is not taken for one: what appears at a path
// of the list is moved aside.
func (v variable) programs(top, home string) (list []string, isCertain bool) {
	if _, ok := v.harmless(); ok || !v.isCommand() {
		return nil, true
	}
	c := commandReader{dirs: []string{top}, entered: []string{top}, home: home}
	c.read(strings.TrimPrefix(atTop(v.value, top), "!"), 0)
	if c.readsInput {
		c.list = append(c.list, c.operands...)
	}
	return c.list, !c.isUncertain
}

// starter is a program that starts the program in its arguments, which it finds in PATH unless
// the name has a slash.
type starter struct {
	values   string // options whose value is the next word
	operands int    // words before the program
}

var starters = map[string]starter{
	"busybox": {}, "toybox": {}, "chrt": {"-T -P -D", 1}, "command": {}, "doas": {"-u -C", 0}, "exec": {"-a", 0},
	"env": {"-u --unset -C --chdir", 0}, "flock": {"-w --timeout -E --conflict-exit-code", 1},
	"ionice": {"-c --class -n --classdata", 0}, "nice": {"-n --adjustment", 0}, "nohup": {}, "setsid": {},
	"stdbuf": {"-i -o -e", 0}, "sudo": {"-u --user -g --group -h -p -C -r -t -T -U -D --chdir -R", 0},
	"strace": {"-e -o -p -s -u -E -a -b -I -O -S -P -X", 0}, "ltrace": {"-e -o -p -s -u -a -n", 0},
	"taskset": {"", 1}, "time": {"-f -o --format --output", 0},
	"timeout": {"-k --kill-after -s --signal", 1},
	"xargs":   {"-n -I -L -P -d -s -a -E --max-args --max-procs --max-lines --max-chars --delimiter --arg-file", 0},
}

// interpreter is a program that runs a script, a path from its directory also without a slash.
type interpreter struct {
	code   string // letters of options before code, or before a module
	values string // options whose value is the next word
	loads  string // options whose value is a file that it runs first
	// hasSubcommands reports that words without a slash and an extension can be subcommands.
	hasSubcommands bool
	isCode         bool // the first word is code
}

// shells are the shells whose options are those of POSIX, and longOptions options of bash that are words.
const (
	shells      = ` ash bash dash ksh mksh sh zsh `
	longOptions = ` debug debugger dump-po-strings dump-strings help login noediting noprofile norc posix pretty-print
		protected restricted verbose version wordexp `
)

// textReaders are programs that print the files of their operands.
const textReaders = ` awk base64 cat cut gawk gpg grep gunzip gzip head m4 mawk openssl sed sort tac tail tee tr xz
	zcat `

var (
	awk          = interpreter{values: "-v -F", loads: "-f --file", isCode: true}
	interpreters = map[string]interpreter{
		".": {}, "source": {},
		"awk": awk, "gawk": awk, "mawk": awk, "nawk": awk,
		"fish":   {code: "c", values: "-d -o -p", loads: "-C --init-command"},
		"python": {code: "cm", values: "-W -X --check-hash-based-pycs"}, "pypy": {code: "cm", values: "-W -X"},
		"node": {code: "ep", values: "-C --conditions", loads: "-r --require --import --loader"},
		"bun":  {code: "ep", loads: "-r --preload --require --import", hasSubcommands: true},
		"deno": {values: "-c --config --import-map", hasSubcommands: true},
		"tsx":  {code: "ep", values: "--tsconfig", loads: "-r --require --import", hasSubcommands: true},
		"perl": {code: "eE", values: "-I"}, "ruby": {code: "e", values: "-I -r -C -E"},
		"php": {code: "rBR", values: "-d -c -z -S -t"}, "lua": {code: "e", values: "-l"},
		"luajit": {code: "e", values: "-l"}, "Rscript": {code: "e"},
		"pwsh": {code: "c", values: "-ExecutionPolicy -ep -OutputFormat -InputFormat -WorkingDirectory -wd"},
	}
)

// runners start programs that files of the work tree name.
const runners = ` bundle cargo dotnet go gradle hatch mvn pdm pipenv pixi poetry rye uv uvx `

func has(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// commandReader collects the programs that commands start. It follows cd.
type commandReader struct {
	home        string
	dirs        []string // the directories in which the next command can run
	entered     []string // the directories in which commands of this shell can run
	list        []string
	isUncertain bool // it can start files that are missing in the list
	// readsInput reports that an interpreter reads its commands from its input, which another command may
	// write. operands are the words of all commands that can name a file.
	readsInput bool
	operands   []string
}

// isKnown reports whether the word needs no shell to be known.
func isKnown(word string) bool {
	return !strings.ContainsAny(word, "$*?[%<>") && !strings.Contains(word, "://")
}

// add adds a program or a script.
func (c *commandReader) add(word string) {
	if isKnown(word) && word != "" {
		c.list = append(c.list, c.within(word)...)
	}
}

// within returns the paths that a word can name.
func (c *commandReader) within(word string) (list []string) {
	for _, dir := range c.dirs {
		if path := absolute(dir, word, c.home); !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	return list
}

// cd changes the directory, as far as it is known.
func (c *commandReader) cd(words []string) {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		words = words[1:]
	}
	if len(words) == 0 || !isKnown(words[0]) {
		return
	}
	c.dirs = c.within(words[0])
	if len(c.entered)+len(c.dirs) > maxIncludes {
		c.isUncertain = true
		return
	}
	c.entered = slices.Concat(c.entered, c.dirs)
}

// note records the words of a command that can name files which another command reads.
func (c *commandReader) note(words []string, in input) {
	isReader := slices.ContainsFunc(words, func(word string) bool { return has(textReaders, filepath.Base(word)) })
	for i, word := range words {
		if i > 0 && isKnown(word) && !strings.HasPrefix(word, "-") && (isReader || strings.ContainsAny(word, "/.")) {
			c.operands = append(c.operands, c.within(word)...)
		}
	}
	for _, file := range in.files {
		if isKnown(file) {
			c.operands = append(c.operands, c.within(file)...)
		}
	}
}

// commandsIn reads the input of an interpreter that reads its commands from there.
func (c *commandReader) commandsIn(in input, isShell bool, depth int) {
	for _, file := range in.files {
		c.add(file)
	}
	for _, text := range in.texts {
		if isShell {
			c.inner(text, depth)
		}
	}
	c.readsInput = c.readsInput || len(in.files)+len(in.texts) == 0
}

// isAssignment reports whether a word in the place of a program sets a variable.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && !strings.Contains(name, "/")
}

// run reads a simple command. depth bounds commands in commands.
func (c *commandReader) run(words []string, in input, depth int) {
	dirs, isCD := c.dirs, false
	defer func() {
		if !isCD {
			c.dirs = dirs
		}
	}()
	c.note(words, in)
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		name := filepath.Base(word)
		family := strings.TrimRight(name, "0123456789.")
		if word == "." {
			family = word
		}
		start, isStarter := starters[name]
		program, isInterpreter := interpreters[family]
		switch {
		case isAssignment(word):
			if name, value, _ := strings.Cut(word, "="); has("BASH_ENV ENV", name) {
				c.add(value)
			}
			continue
		case has("! { } do elif else if then until while", word):
			continue
		case word == "cd" || word == "pushd":
			isCD = true
			c.cd(words)
			return
		case word == "eval" || name == "env" && len(words) > 0 && has("-S --split-string", words[0]):
			c.read(strings.TrimPrefix(strings.TrimPrefix(strings.Join(words, " "), "-S"), "--split-string"), depth+1)
			isCD = true // the words can have one
			return
		case strings.Contains(word, "/"):
			c.add(word)
		}
		switch {
		case isStarter:
			words = c.skip(start, words, depth)
			continue
		case has(shells, family):
			c.shell(words, in, depth)
		case isInterpreter:
			c.script(family, program, words, in, depth)
		case has(runners, name):
			c.isUncertain = true
		}
		return
	}
}

// skip returns the words from the program on that a starter starts.
func (c *commandReader) skip(s starter, words []string, depth int) []string {
	for operands := s.operands; len(words) > 0; {
		switch word := words[0]; {
		case has(s.values, word) && len(words) > 1:
			if word == "-C" || word == "--chdir" || word == "-D" {
				c.dirs = c.within(words[1])
			}
			words = words[2:]
			continue
		case s.operands > 0 && operands == 0 && (word == "-c" || word == "--command") && len(words) > 1: // flock
			c.inner(words[1], depth)
			return nil
		case strings.HasPrefix(word, "-"):
		case operands > 0:
			operands--
		default:
			return words
		}
		words = words[1:]
	}
	return nil
}

// shell reads the words behind a shell. Letters of options can be in groups, in which each o and O takes
// one of the next words.
func (c *commandReader) shell(words []string, in input, depth int) {
	isCode, isInput := false, false
options:
	for len(words) > 0 {
		word := words[0]
		long := strings.TrimLeft(word, "-")
		switch {
		case word == "-" || word == "--":
			words = words[1:]
			break options
		case long != word && has("rcfile init-file", long) && len(words) > 1:
			c.add(words[1])
			words = words[2:]
		case strings.HasPrefix(word, "--") || long != word && has(longOptions, long):
			words = words[1:]
		case len(word) > 1 && (word[0] == '-' || word[0] == '+'):
			isCode = isCode || word[0] == '-' && strings.Contains(word, "c")
			isInput = isInput || word[0] == '-' && strings.Contains(word, "s")
			values := strings.Count(word, "o") + strings.Count(word, "O")
			words = words[min(1+values, len(words)):]
		default:
			break options
		}
	}
	switch {
	case isCode && len(words) > 0:
		c.inner(words[0], depth)
	case isInput || len(words) == 0:
		c.commandsIn(in, true, depth)
	default:
		c.add(words[0])
	}
}

// script reads the words behind an interpreter.
func (c *commandReader) script(family string, program interpreter, words []string, in input, depth int) {
	isPython, isIsolated, mayBeValue := has("python pypy", family), false, false
	for ; len(words) > 0; words = words[1:] {
		word := words[0]
		isOption := strings.HasPrefix(word, "-") && word != "-" && word != "--"
		switch {
		case has(program.loads, word) && len(words) > 1:
			words = words[1:]
			c.load(words[0])
		case isOption && program.attached(word) != "":
			c.load(program.attached(word))
		case has(program.values, word) && len(words) > 1:
			words = words[1:]
		case isOption && program.takesCode(word):
			if program.code == "c" { // a shell
				for words = words[1:]; len(words) > 0 && strings.HasPrefix(words[0], "-"); {
					words = words[1:]
				}
				if len(words) > 0 {
					c.inner(words[0], depth)
				}
				return
			}
			// Python finds modules in the directory.
			c.isUncertain = c.isUncertain || isPython && !isIsolated && !strings.ContainsAny(word, "IP")
			return
		case isOption && strings.HasPrefix(word, "--"):
			mayBeValue = mayBeValue || !strings.Contains(word, "=")
		case isOption:
			isIsolated = isIsolated || isPython && strings.ContainsAny(word, "IP")
		case word == "--" || program.hasSubcommands && (word == "run" || word == "watch"):
		case word == "-":
			c.commandsIn(in, false, depth)
			return
		case program.isCode:
			return
		case program.hasSubcommands && filepath.Ext(word) == "" && !strings.Contains(word, "/"):
			c.isUncertain = true // it can be a subcommand or a task
			return
		case mayBeValue && !strings.Contains(word, "/"): // it can be the value of an option
			c.isUncertain = true
			return
		default:
			c.add(word)
			return
		}
	}
	if !program.hasSubcommands && !program.isCode {
		c.commandsIn(in, has(". source fish", family), depth)
	}
}

// load adds a file that an interpreter runs first; another word is a module.
func (c *commandReader) load(word string) {
	if strings.Contains(word, "/") || filepath.Ext(word) != "" {
		c.add(word)
	}
}

// attached returns the file in an option that has it in the same word.
func (i interpreter) attached(word string) (file string) {
	for option := range strings.FieldsSeq(i.loads) {
		if rest, ok := strings.CutPrefix(word, option); ok && !strings.HasPrefix(option, "--") {
			return rest
		} else if file, ok := strings.CutPrefix(rest, "="); ok {
			return file
		}
	}
	return ""
}

// takesCode reports whether code or a module follows an option.
func (i interpreter) takesCode(option string) bool {
	if has("--eval --print --command -Command --run", option) {
		return true
	}
	letters := option[1:]
	if i.code == "c" { // letters of a shell in any order
		return !strings.HasPrefix(letters, "-") && strings.Contains(letters, "c") && len(letters) < 6
	}
	return !strings.ContainsAny(letters[:1], "-MIWX") && strings.ContainsAny(letters[len(letters)-1:], i.code)
}
