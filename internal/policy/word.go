package policy

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// words returns what a command gets for the words of a script.
func (s *script) words(nodes []*syntax.Word) []word {
	var list []word
	for _, node := range nodes {
		list = append(list, s.word(node)...)
	}
	return list
}

const maxBraces = 64

// word returns one word, or several where braces make them.
func (s *script) word(node *syntax.Word) []word {
	if !static(node.Parts) {
		return []word{{text: s.source(node), plain: s.plain(node)}}
	}
	switch braces(node.Parts) {
	case noBraces:
		return []word{s.staticWord(node)}
	case strangeBraces:
		return []word{{text: s.source(node), plain: true}}
	}
	split := *node
	syntax.SplitBraces(&split)
	var list []word
	for one, err := range expand.BracesSeq(nil, &split) {
		if err != nil || len(list) == maxBraces {
			return []word{{text: s.source(node)}}
		}
		list = append(list, s.staticWord(one))
	}
	return list
}

type braced int

const (
	noBraces braced = iota
	plainBraces
	strangeBraces
)

// braces looks for braces that make several words of one. Only where there is
// one pair are shells and parsers sure to agree what those words are.
func braces(parts []syntax.WordPart) braced {
	var text strings.Builder
	for _, part := range parts {
		if lit, ok := part.(*syntax.Lit); ok {
			text.WriteString(lit.Value)
		}
	}
	t := text.String()
	switch opened := strings.Count(t, "{"); {
	case opened == 0, !strings.Contains(t, ",") && !strings.Contains(t, ".."), !strings.Contains(t, "}"):
		return noBraces
	case opened == 1 && strings.Count(t, "}") == 1 && !strings.Contains(t, `\`) && !strings.Contains(t[strings.IndexByte(t, '{'):], ".."):
		return plainBraces
	}
	return strangeBraces
}

// static reports whether parts of a word are the same at every run.
func static(parts []syntax.WordPart) bool {
	return !slices.ContainsFunc(parts, func(part syntax.WordPart) bool {
		switch part := part.(type) {
		case *syntax.Lit:
			return false
		case *syntax.SglQuoted:
			return part.Dollar && strings.ContainsAny(part.Value, `\%`) // shells differ
		case *syntax.DblQuoted:
			return part.Dollar || !static(part.Parts)
		}
		return true
	})
}

func (s *script) staticWord(node *syntax.Word) word {
	unknown := word{text: s.source(node)}
	if first, ok := firstLiteral(node); ok && strings.HasPrefix(first, "~") {
		name, _, _ := strings.Cut(first, "/")
		if name != "~" || s.home == "" || name == first && len(node.Parts) > 1 {
			return unknown // another user's, or another directory
		}
	}
	fields, err := expand.Fields(s.expansion(), node)
	if err != nil || len(fields) != 1 {
		return unknown
	}
	return word{text: fields[0], known: true, glob: hasGlob(node.Parts)}
}

func firstLiteral(node *syntax.Word) (string, bool) {
	if len(node.Parts) == 0 {
		return "", false
	}
	lit, ok := node.Parts[0].(*syntax.Lit)
	if !ok {
		return "", false
	}
	return lit.Value, true
}

// expansion knows nothing but where home is, and lists no directories: what it
// is used for is static.
func (s *script) expansion() *expand.Config {
	return &expand.Config{Env: expand.FuncEnviron(func(name string) string {
		if name == "HOME" {
			return s.home
		}
		return ""
	})}
}

// hasGlob reports whether there are wildcards that are not quoted.
func hasGlob(parts []syntax.WordPart) bool {
	open := false
	for _, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			switch lit.Value[i] {
			case '\\':
				i++
			case '*', '?':
				return true
			case '[':
				open = true
			case ']':
				if open {
					return true
				}
			}
		}
	}
	return false
}

const (
	maxMatches = 500
	maxListed  = 5000
)

var errManyFiles = errors.New("too many files")

// files returns the names that the shell makes of a word with wildcards in
// the directory at. It fails where there are too many to look at.
func files(text, at string) ([]string, error) {
	node, err := syntax.NewParser().Document(strings.NewReader(text))
	if err != nil || strings.ContainsAny(text, "\\~$`\"'") || len(node.Parts) != 1 {
		return nil, errors.New("wildcards that are not understood")
	}
	listed := 0
	config := &expand.Config{
		Env: expand.ListEnviron("PWD=" + at),
		ReadDir2: func(dir string) ([]fs.DirEntry, error) {
			entries, err := os.ReadDir(dir)
			if listed += len(entries); listed > maxListed {
				return nil, errManyFiles
			}
			return entries, err
		},
	}
	names, err := expand.Fields(config, node)
	if listed > maxListed || len(names) > maxMatches {
		return nil, errManyFiles
	}
	return names, err
}

// plain reports whether a word that is not known shows nothing secret: it is
// made of texts, of what commands put out that are judged by themselves, and
// of variables that are the script's own or hold nothing secret.
func (s *script) plain(node syntax.Node) bool {
	plain := true
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.ParamExp:
			plain = plain && n.Param != nil && !n.Excl && (s.own[n.Param.Value] || publicVariable(n.Param.Value))
		}
		return true
	})
	return plain
}

func publicVariable(name string) bool {
	return slices.Contains([]string{
		"?", "#", "$", "!", "@", "*", "-", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9",
		"HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "TERM", "TMPDIR", "HOSTNAME", "OSTYPE", "HOSTTYPE",
		"UID", "EUID", "PPID", "RANDOM", "SECONDS", "LINENO", "BASH_VERSION", "PIPESTATUS", "EPOCHSECONDS", "COLUMNS", "LINES",
	}, name)
}
