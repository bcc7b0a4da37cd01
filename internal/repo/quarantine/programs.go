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
	c := commandReader{dir: top, home: home}
	c.read(strings.TrimPrefix(atTop(v.value, top), "!"), 0)
	return c.list, !c.isUncertain
}

// starter is a program that starts the program in its arguments, which it finds in PATH unless
// the name has a slash.
type starter struct {
	values   string // options whose value is the next word
	operands int    // words before the program
}

var starters = map[string]starter{
	"chrt": {"-T -P -D", 1}, "command": {}, "doas": {"-u -C", 0}, "exec": {"-a", 0},
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
}

var (
	shell        = interpreter{code: "c", values: "-o -O +o +O", loads: "--rcfile --init-file"}
	interpreters = map[string]interpreter{
		".": {}, "source": {}, "ash": shell, "bash": shell, "dash": shell, "ksh": shell, "sh": shell, "zsh": shell,
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
	dir, home   string
	list        []string
	isUncertain bool // it can start files that are missing in the list
}

// isKnown reports whether the word needs no shell to be known.
func isKnown(word string) bool {
	return !strings.ContainsAny(word, "$*?[%<>") && !strings.Contains(word, "://")
}

// add adds a program or a script.
func (c *commandReader) add(word string) {
	if isKnown(word) && word != "" {
		c.list = append(c.list, absolute(c.dir, word, c.home))
	}
}

// isAssignment reports whether a word in the place of a program sets a variable.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && !strings.Contains(name, "/")
}

// run reads a simple command. depth bounds commands in commands.
func (c *commandReader) run(words []string, depth int) {
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
		case isAssignment(word) || has("! { } do elif else if then until while", word):
			continue
		case word == "cd":
			for len(words) > 0 && strings.HasPrefix(words[0], "-") {
				words = words[1:]
			}
			if len(words) > 0 && isKnown(words[0]) {
				c.dir = absolute(c.dir, words[0], c.home)
			}
			return
		case word == "eval" || name == "env" && len(words) > 0 && has("-S --split-string", words[0]):
			c.read(strings.TrimPrefix(strings.TrimPrefix(strings.Join(words, " "), "-S"), "--split-string"), depth+1)
			return
		case strings.Contains(word, "/"):
			c.add(word)
		}
		switch {
		case isStarter:
			words = c.skip(start, words, depth)
			continue
		case isInterpreter:
			c.script(family, program, words, depth)
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
				c.dir = absolute(c.dir, words[1], c.home)
			}
			words = words[2:]
			continue
		case s.operands > 0 && operands == 0 && (word == "-c" || word == "--command") && len(words) > 1: // flock
			c.read(words[1], depth+1)
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

// script reads the words behind an interpreter.
func (c *commandReader) script(family string, program interpreter, words []string, depth int) {
	isPython, isIsolated, mayBeValue := has("python pypy", family), false, false
	for ; len(words) > 0; words = words[1:] {
		word := words[0]
		isOption := strings.HasPrefix(word, "-") && word != "-" && word != "--"
		switch {
		case has(program.loads, word) && len(words) > 1:
			words = words[1:]
			if strings.Contains(words[0], "/") {
				c.add(words[0])
			}
		case has(program.values, word) && len(words) > 1:
			words = words[1:]
		case isOption && program.isCode(word):
			if program.code == "c" { // a shell
				for words = words[1:]; len(words) > 0 && strings.HasPrefix(words[0], "-"); {
					words = words[1:]
				}
				if len(words) > 0 {
					c.read(words[0], depth+1)
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
}

// isCode reports whether code or a module follows an option.
func (i interpreter) isCode(option string) bool {
	if has("--eval --print --command -Command --run", option) {
		return true
	}
	letters := option[1:]
	if i.code == "c" { // letters of a shell in any order
		return !strings.HasPrefix(letters, "-") && strings.Contains(letters, "c") && len(letters) < 6
	}
	return !strings.ContainsAny(letters[:1], "-MIWX") && strings.ContainsAny(letters[len(letters)-1:], i.code)
}
