package policy

import (
	"slices"
	"strings"
)

// wrapper is a program that starts the command in its operands.
type wrapper struct {
	grammar
	// skip is the number of operands before the command.
	skip int
	// sets says that assignments may precede the command.
	sets bool
	// judged says that the wrapper changes what the command can do, so that
	// it needs to be allowed itself.
	judged bool
}

func wrappers() map[string]wrapper {
	return map[string]wrapper{
		"env":     {grammar: grammar{flags: "i0v", values: "u", long: []string{"ignore-environment", "unset=", "null", "debug"}, stop: true}, sets: true},
		"nohup":   {grammar: grammar{stop: true}},
		"setsid":  {grammar: grammar{flags: "cfw", long: []string{"ctty", "fork", "wait"}, stop: true}},
		"command": {grammar: grammar{flags: "pvV", stop: true}},
		"builtin": {grammar: grammar{stop: true}},
		"exec":    {grammar: grammar{flags: "cl", values: "a", stop: true}},
		"time":    {grammar: grammar{flags: "pv", stop: true}},
		"nice":    {grammar: grammar{values: "n", long: []string{"adjustment="}, number: true, stop: true}},
		"ionice":  {grammar: grammar{flags: "t", values: "cn", stop: true}},
		"timeout": {grammar: grammar{flags: "fpv", values: "ks", long: []string{"foreground", "preserve-status", "verbose", "kill-after=", "signal="}, stop: true}, skip: 1},
		"stdbuf":  {grammar: grammar{values: "ioe", long: []string{"input=", "output=", "error="}, stop: true}},
		"sudo":    {grammar: grammar{flags: "nEHSkbPA", values: "ugpCrtTDhR", long: []string{"non-interactive", "user=", "group=", "preserve-env?", "stdin", "set-home"}, stop: true}, sets: true, judged: true},
		"doas":    {grammar: grammar{flags: "nL", values: "uC", stop: true}, judged: true},
	}
}

// starters are programs that run commands in ways that are not looked at.
func starters() []string {
	return []string{
		"su", "runuser", "parallel", "watch", "flock", "strace", "ltrace", "script", "unshare", "nsenter", "setarch", "taskset", "chrt",
		"systemd-run", "chroot", "start-stop-daemon", "entr", "expect", "tmux", "screen", "at", "batch", "crontab", "ssh", "unbuffer", "chpst",
		"setpriv", "prlimit", "pkexec", "fakeroot", "rlwrap", "proot", "coproc",
	}
}

func otherShells() []string {
	return []string{"zsh", "ksh", "mksh", "csh", "tcsh", "fish", "pwsh", "powershell", "cmd", "nu", "xonsh", "elvish"}
}

// wrapper looks at a command that starts another.
func (s *script) wrapper(w wrapper, words []word, sets []string) {
	p, ok := w.parse(words[1:])
	if !ok || len(p.operands) < w.skip {
		s.run(deed{words: words, sets: sets})
		s.hide(line(sets, words), "the options are not understood")
		return
	}
	name := baseName(words[0].text)
	if name == "command" && p.has("v", "V") {
		s.add(deed{kind: runs, text: line(sets, words), words: words, sets: sets, safe: len(sets) == 0, why: "it sets variables"})
		return
	}
	inner := p.operands[w.skip:]
	bare := len(inner) == 0
	innerSets := slices.Clone(sets)
	for w.sets && len(inner) > 0 && inner[0].known && strings.Contains(inner[0].text, "=") && isName(inner[0].text[:strings.IndexByte(inner[0].text, '=')]) {
		name, value, _ := strings.Cut(inner[0].text, "=")
		if !harmlessVariable(name, value) {
			innerSets = append(innerSets, inner[0].text)
		}
		inner = inner[1:]
	}
	bare = bare || len(inner) == 0
	judged := w.judged || bare && name == "env" || systemName(words[0].text) != name
	s.add(deed{kind: runs, text: line(sets, words), words: words, sets: sets, starts: !judged && len(sets) == 0, why: name + " needs to be allowed itself"})
	if !bare {
		s.command(inner, innerSets)
	}
}

func isName(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// xargs starts a command with words that come from elsewhere.
func (s *script) xargs(words []word, sets []string) {
	p, ok := grammar{
		flags: "0rtx", values: "nPILsdE", stop: true,
		long: []string{"null", "no-run-if-empty", "max-args=", "max-procs=", "max-lines=", "max-chars=", "delimiter=", "verbose"},
	}.parse(words[1:])
	if !ok {
		s.run(deed{words: words, sets: sets})
		s.hide(line(sets, words), "the options are not understood")
		return
	}
	system := systemName(words[0].text) == "xargs"
	s.add(deed{kind: runs, text: line(sets, words), words: words, sets: sets, starts: system && len(sets) == 0, why: "it is not known what it starts"})
	inner := slices.Clone(p.operands)
	if len(inner) == 0 {
		return // echo
	}
	replace := ""
	for _, o := range p.options {
		if o.name == "I" {
			replace = o.value
		}
	}
	if replace == "" {
		s.command(append(inner, word{text: "…", plain: true}), sets)
		return
	}
	s.command(filled(inner, replace), sets)
}

// filled makes words unknown in which something will be put in.
func filled(words []word, mark string) []word {
	list := slices.Clone(words)
	for i := range list {
		if strings.Contains(list[i].text, mark) {
			list[i] = word{text: list[i].text, plain: true}
		}
	}
	return list
}

// find may start commands for what it finds.
func (s *script) find(words []word, sets []string) {
	rest := words[:1:1]
	for i := 1; i < len(words); i++ {
		if !words[i].definite() || !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, words[i].text) {
			rest = append(rest, words[i])
			continue
		}
		end := i + 1
		for end < len(words) && words[end].text != ";" && (words[end].text != "+" || words[end-1].text != "{}") {
			end++
		}
		if end == len(words) || slices.ContainsFunc(words[i+1:end], func(w word) bool { return !w.definite() && w.text != "{}" }) {
			s.hide(line(sets, words), "what find runs is not known")
		}
		s.command(filled(words[i+1:end], "{}"), sets)
		i = end
	}
	own := deed{kind: runs, text: line(sets, words), words: words, sets: sets}
	if len(sets) > 0 {
		own.why = "it sets variables for find"
	} else {
		own.touches, own.why = s.harmless(rest)
		own.safe = own.why == ""
	}
	s.add(own)
}
