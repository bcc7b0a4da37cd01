package policy

import (
	"fmt"
	"slices"
	"strings"

	shexpand "mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// A script that may destroy is read with a parser of bash: every command in it counts, also
// in loops, functions, substitutions and in texts that another shell runs. Package effects
// has a grammar of its own, because there a command must be certain in every shell; here it
// must be possible in one.

// shellWord is a word as the shell passes it to a command.
type shellWord struct {
	text string // without quotes; "$" replaces parts that are not known before it runs
	// wide reports that the shell can expand it to several words.
	wide bool
	// unknown reports that a part of it is not known.
	unknown bool
}

const (
	// maxNested bounds scripts in words of scripts, and maxValues the values of a variable.
	maxNested = 4
	maxValues = 4
)

// shellScript is a script with the values of its variables.
type shellScript struct {
	values map[string][]string
	calls  []shellCall
	loops  bool // it has a loop
	feeds  bool // it can give text to a shell, which then runs it
	depth  int
	// reasons are the reasons why commands of the script are destructive, and operands the words of
	// these commands.
	reasons, operands []string
}

// shellCall is a command with the texts that it receives as its input.
type shellCall struct {
	*syntax.CallExpr
	input []*syntax.Word
}

// shells are programs that run a text of their words or of their input as a script.
const shells = " sh bash dash ash zsh ksh mksh busybox eval source . ssh su watch trap alias parallel script flock " +
	"xargs env find python python2 python3 perl ruby node php awk gawk mawk "

// showsText are programs whose words are only text.
const showsText = " echo printf : true false test [ grep egrep fgrep rg ag ack cat tee less head tail wc sort jq " +
	"which type man "

// listed reports whether the list, which begins and ends with a space, has the word.
func listed(list, word string) bool {
	return word != "" && !strings.Contains(word, " ") && strings.Contains(list, " "+word+" ")
}

// readScript reads a script. The text before an error of the syntax counts: shells run it.
func readScript(text string, depth int) (*shellScript, error) {
	s := &shellScript{values: map[string][]string{}, depth: depth}
	file := &syntax.File{}
	var err error
	for stmt, failed := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(text)) {
		if err = failed; err != nil {
			break
		}
		file.Stmts = append(file.Stmts, stmt)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ForClause, *syntax.WhileClause:
			s.loops = true
		case *syntax.Assign:
			s.assign(n)
		case *syntax.BinaryCmd:
			s.feeds = s.feeds || (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && startsShell(n.Y)
		case *syntax.Stmt:
			s.add(n)
		}
		return true
	})
	return s, err
}

// add adds the command of a statement.
func (s *shellScript) add(stmt *syntax.Stmt) {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	c := shellCall{CallExpr: call}
	for _, r := range stmt.Redirs {
		if r.Hdoc != nil {
			c.input = append(c.input, r.Hdoc)
		} else if r.Op == syntax.WordHdoc {
			c.input = append(c.input, r.Word)
		}
	}
	s.calls = append(s.calls, c)
	if listed(shells, baseName(call.Args[0].Lit())) {
		for _, word := range call.Args[1:] {
			syntax.Walk(word, func(n syntax.Node) bool {
				switch n.(type) {
				case *syntax.CmdSubst, *syntax.ProcSubst:
					s.feeds = true
				}
				return true
			})
		}
	}
}

// startsShell reports whether a word of a command is the name of a shell.
func startsShell(stmt *syntax.Stmt) bool {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	return ok && slices.ContainsFunc(call.Args, func(w *syntax.Word) bool {
		name := baseName(w.Lit())
		return name != "env" && name != "find" && listed(shells, name)
	})
}

// assign records a value of a variable.
func (s *shellScript) assign(a *syntax.Assign) {
	if a.Name == nil || a.Value == nil || len(s.values[a.Name.Value]) == maxValues {
		return
	}
	var text strings.Builder
	for _, w := range s.expand(a.Value, 0) {
		text.WriteString(" " + w.text)
	}
	s.values[a.Name.Value] = append(s.values[a.Name.Value], strings.TrimPrefix(text.String(), " "))
}

// words returns the words of a command for one choice of the values of variables.
func (s *shellScript) words(call *syntax.CallExpr, choice int) (list []shellWord) {
	for _, word := range call.Args {
		for braced, err := range shexpand.BracesSeq(nil, word) {
			if err != nil {
				return append(list, shellWord{text: "$", wide: true, unknown: true})
			}
			list = append(list, s.expand(braced, choice)...)
		}
	}
	return list
}

// expand returns the words that a word becomes.
func (s *shellScript) expand(word *syntax.Word, choice int) (list []shellWord) {
	var w shellWord
	parted := false // a split was the last part
	for _, part := range word.Parts {
		for i, field := range s.part(part, choice, false) {
			if i > 0 {
				list, w, parted = append(list, w), shellWord{}, true
			}
			w = shellWord{w.text + field.text, w.wide || field.wide, w.unknown || field.unknown}
		}
	}
	if parted && w.text == "" {
		return list
	}
	return append(list, w)
}

// part returns the fields of a part of a word: the first belongs to the word before it.
func (s *shellScript) part(part syntax.WordPart, choice int, quoted bool) []shellWord {
	switch part := part.(type) {
	case *syntax.Lit:
		return []shellWord{{text: unescaped(part.Value, quoted), wide: !quoted && isPattern(part.Value)}}
	case *syntax.SglQuoted:
		return []shellWord{{text: part.Value, unknown: part.Dollar && strings.Contains(part.Value, `\`)}}
	case *syntax.DblQuoted:
		var w shellWord
		for _, inner := range part.Parts {
			for _, field := range s.part(inner, choice, true) {
				w = shellWord{w.text + field.text, w.wide || field.wide, w.unknown || field.unknown}
			}
		}
		return []shellWord{w}
	case *syntax.ParamExp:
		return s.parameter(part, choice, quoted)
	case *syntax.ExtGlob:
		return []shellWord{{text: "*", wide: true}}
	}
	return []shellWord{{text: "$", wide: !quoted, unknown: true}} // a substitution
}

func (s *shellScript) parameter(p *syntax.ParamExp, choice int, quoted bool) []shellWord {
	name := ""
	if p.Param != nil {
		name = p.Param.Value
	}
	values := s.values[name]
	switch {
	case name == "IFS" && !quoted:
		return make([]shellWord, 2)
	case name == "@" || name == "*" || p.Index != nil:
		return []shellWord{{text: "$" + name, wide: true, unknown: true}}
	case len(values) == 0:
		return []shellWord{{text: "$" + name, unknown: true}}
	}
	value := values[min(choice, len(values)-1)]
	if quoted {
		return []shellWord{{text: value}}
	}
	var fields []shellWord
	for field := range strings.FieldsSeq(value) {
		fields = append(fields, shellWord{text: field, wide: isPattern(field) || strings.Contains(field, "$")})
	}
	if fields == nil {
		return []shellWord{{}}
	}
	return fields
}

// unescaped removes the escapes of a text outside of single quotes.
func unescaped(text string, quoted bool) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("\"\\$`\n", text[i+1]) >= 0) {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// judge collects the reasons why commands of the script are destructive, and their operands.
func (s *shellScript) judge() {
	for _, c := range s.calls {
		for _, word := range c.Args {
			syntax.SplitBraces(word) // after the walk, which does not know the resulting words
		}
		for choice := range maxValues {
			words := s.words(c.CallExpr, choice)
			s.command(words)
			for _, input := range c.input {
				text := ""
				for _, part := range input.Parts {
					text += s.part(part, choice, true)[0].text
				}
				s.text(words, text, slices.ContainsFunc(words, runsText))
			}
		}
	}
}

// because adds a reason, and reports whether there is one.
func (s *shellScript) because(why string, operands ...shellWord) bool {
	if why == "" {
		return false
	}
	if !slices.Contains(s.reasons, why) {
		s.reasons = append(s.reasons, why)
	}
	for _, w := range operands {
		if !w.unknown && !slices.Contains(s.operands, w.text) {
			s.operands = append(s.operands, w.text)
		}
	}
	return true
}

// command judges a command, and the commands that its words start.
func (s *shellScript) command(words []shellWord) {
	if len(words) == 0 {
		return
	}
	name := baseName(words[0].text)
	switch {
	case words[0].unknown && isRecursive(words[1:]):
		s.because(fmt.Sprintf("%s may be rm, and would delete folders", words[0].text), words[1:]...)
		return
	case listed(showsText, name) && !s.feeds:
		return
	case name == "git" && !slices.ContainsFunc(words, runsWords):
		s.because(destroysGit(words[1:]))
		return
	}
	many, runs := s.loops, false // of the words before
	for i, w := range words {
		if s.because(destroys(baseName(w.text), words[i+1:], many), words[i+1:]...) {
			return
		}
		s.text(words[:i], w.text, runs)
		many, runs = many || isSpreader(w), runs || runsText(w)
	}
}

// runsText reports whether a program runs a text after its name as a script.
func runsText(w shellWord) bool { return listed(shells, baseName(w.text)) || runsWords(w) }

// text judges a text that a command with these words receives. runs reports whether one of them
// runs it.
func (s *shellScript) text(words []shellWord, text string, runs bool) {
	if len(words) > 0 && listed(showsText, baseName(words[0].text)) && !s.feeds {
		return
	}
	if m := removesTrees().FindString(text); m != "" {
		s.because(m + " deletes a folder with all that is in it")
		return
	}
	runs = runs || s.feeds || runsWords(shellWord{text: text})
	if !runs || s.depth == maxNested || !strings.ContainsAny(text, " \t\n;&|(`$!=") {
		return
	}
	source := text
	if name, value, ok := strings.Cut(text, "="); ok && !strings.ContainsAny(name, " \t\n") {
		text = strings.TrimPrefix(value, "!") // an alias
	}
	inner, _ := readScript(text, s.depth+1) // it can be a text of another language
	for name, values := range s.values {
		if inner.values[name] == nil {
			inner.values[name] = values
		}
	}
	inner.loops, inner.feeds = inner.loops || s.loops, inner.feeds || s.feeds
	inner.judge()
	if m := removesByShell().FindString(source); m != "" && len(inner.reasons) == 0 { // in another language
		s.because(m + " deletes folders with all that is in them")
	}
	for _, why := range inner.reasons {
		s.because(why)
	}
	s.operands = append(s.operands, inner.operands...)
}

// runsWords reports whether git runs a program or a script of the words after this one.
func runsWords(w shellWord) bool {
	return slices.Contains([]string{"foreach", "run", "-x", "--exec", "--tree-filter", "--index-filter"}, w.text) ||
		strings.HasPrefix(w.text, "alias.") || strings.HasPrefix(w.text, "--exec=")
}
