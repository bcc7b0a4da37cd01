package markdown

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/terminal"
)

// Inside is what a line of code begins within: the end that closes a comment or
// a string of several lines; empty for plain code.
type Inside string

// language is what is needed of a language to tell comments, strings, numbers
// and keywords apart.
type language struct {
	names    []string
	line     []string    // what begins a comment that ends with the line
	blocks   [][2]string // comments and strings that may have several lines
	quotes   string      // what begins and ends a string within a line
	keywords string
}

// languages is a table; ADR 15 says why it is no library.
func languages() []language {
	c := [][2]string{{"/*", "*/"}}
	return []language{
		{[]string{"go", "golang"}, []string{"//"}, [][2]string{{"/*", "*/"}, {"`", "`"}}, `"'`, "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false iota"},
		{[]string{"c", "h", "cpp", "c++", "cc", "hpp", "objc", "cuda"}, []string{"//"}, c, `"'`, "auto bool break case catch char class const constexpr continue default delete do double else enum extern false final float for friend goto if inline int long namespace new noexcept nullptr operator override private protected public register return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while"},
		{[]string{"rust", "rs"}, []string{"//"}, c, `"`, "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while"},
		{[]string{"java", "kotlin", "kt", "scala", "groovy", "csharp", "cs", "c#", "dart", "swift"}, []string{"//"}, [][2]string{{"/*", "*/"}, {`"""`, `"""`}}, `"'`, "abstract as async await boolean break byte case catch char class const continue data def default do double else enum extends false final finally float for fun func guard if implements import in instanceof int interface internal is let long namespace new null object open override package private protected public return sealed short static string struct super switch this throw throws trait true try using val var virtual void when where while with yield"},
		{[]string{"javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs"}, []string{"//"}, [][2]string{{"/*", "*/"}, {"`", "`"}}, `"'`, "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function if implements import in instanceof interface is keyof let namespace never new null number of private protected public readonly return static string super switch this throw true try type typeof undefined unknown var void while with yield"},
		{[]string{"python", "py", "python3", "starlark"}, []string{"#"}, [][2]string{{`"""`, `"""`}, {"'''", "'''"}}, `"'`, "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield"},
		{[]string{"ruby", "rb", "elixir", "ex", "crystal"}, []string{"#"}, nil, `"'`, "alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield defmodule fn"},
		{[]string{"sh", "bash", "shell", "zsh", "console", "fish", "dockerfile", "make", "makefile"}, []string{"#"}, nil, `"'`, "case do done elif else esac export fi for function if in local return select set shift then time unset until while FROM RUN CMD COPY ADD ENV WORKDIR ENTRYPOINT ARG EXPOSE"},
		{[]string{"yaml", "yml", "toml", "ini", "conf", "properties", "hcl", "terraform", "nix"}, []string{"#"}, nil, `"'`, "true false null yes no on off"},
		{[]string{"json", "jsonc", "json5", "jsonl"}, []string{"//"}, nil, `"`, "true false null"},
		{[]string{"sql", "postgresql", "mysql", "sqlite"}, []string{"--"}, c, `'"`, "add all alter and as asc begin between by case check column commit constraint create cross database default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then transaction union unique update using values view when where with"},
		{[]string{"lua"}, []string{"--"}, [][2]string{{"[[", "]]"}}, `"'`, "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"},
		{[]string{"haskell", "hs", "elm", "purescript"}, []string{"--"}, [][2]string{{"{-", "-}"}}, `"`, "case class data deriving do else if import in infix instance let module newtype of then type where"},
		{[]string{"php"}, []string{"//", "#"}, c, `"'`, "abstract and array as break case catch class const continue declare default do echo else elseif enum extends false final finally fn for foreach function global if implements instanceof interface match namespace new null or private protected public readonly require return static switch this throw trait true try use var while yield"},
		{[]string{"html", "xml", "svg", "vue", "svelte"}, nil, [][2]string{{"<!--", "-->"}}, `"'`, ""},
		{[]string{"css", "scss", "less"}, nil, c, `"'`, "important inherit initial none auto"},
		{[]string{"zig", "nim", "julia", "jl", "r", "perl", "pl", "clojure", "erlang", "ocaml", "ml"}, []string{"#", "//", ";;"}, nil, `"`, "and begin const do else elsif end false fn for fun function if import in let match module mut my not of or proc pub return rec self sub then true try type use using var when while with"},
	}
}

// Highlight returns a line of code in colors, and what the next line begins
// within. Of a language that is not known, nothing has a color; a line of a
// diff has that of its sign.
func Highlight(name string, inside Inside, line string) (terminal.Line, Inside) {
	if name == "diff" || name == "patch" {
		return terminal.Plain(line, DiffStyle(line)), ""
	}
	for _, l := range languages() {
		if slices.Contains(l.names, name) {
			return l.highlight(inside, line)
		}
	}
	return terminal.Plain(line, terminal.Style{}), ""
}

// DiffStyle is how a line of a unified diff looks.
func DiffStyle(line string) terminal.Style {
	switch {
	case strings.HasPrefix(line, "+"):
		return terminal.Style{Color: terminal.Green}
	case strings.HasPrefix(line, "-"):
		return terminal.Style{Color: terminal.Red}
	case strings.HasPrefix(line, "@@"):
		return terminal.Style{Color: terminal.Cyan}
	}
	return terminal.Style{}
}

func (l language) highlight(inside Inside, line string) (terminal.Line, Inside) {
	var out terminal.Line
	text := terminal.Style{Color: terminal.Green}
	comment := terminal.Style{Attr: terminal.Faint}
	if inside != "" {
		end := strings.Index(line, string(inside))
		if end < 0 {
			return terminal.Plain(line, l.block(inside)), inside
		}
		end += len(inside)
		out, line = append(out, terminal.Span{Text: line[:end], Style: l.block(inside)}), line[end:]
	}
	for line != "" {
		if slices.ContainsFunc(l.line, func(mark string) bool { return strings.HasPrefix(line, mark) }) {
			return append(out, terminal.Span{Text: line, Style: comment}), ""
		}
		if b := slices.IndexFunc(l.blocks, func(b [2]string) bool { return strings.HasPrefix(line, b[0]) }); b >= 0 {
			begin, stop := l.blocks[b][0], Inside(l.blocks[b][1])
			end := strings.Index(line[len(begin):], string(stop))
			if end < 0 {
				return append(out, terminal.Span{Text: line, Style: l.block(stop)}), stop
			}
			end += len(begin) + len(stop)
			out, line = append(out, terminal.Span{Text: line[:end], Style: l.block(stop)}), line[end:]
			continue
		}
		var style terminal.Style
		var n int
		switch c, size := utf8.DecodeRuneInString(line); {
		case strings.ContainsRune(l.quotes, c):
			style, n = text, quoted(line)
		case unicode.IsDigit(c):
			style, n = terminal.Style{Color: terminal.Yellow}, word(line)
		case unicode.IsLetter(c) || c == '_':
			if n = word(line); l.keyword(line[:n]) {
				style = terminal.Style{Color: terminal.Magenta}
			}
		default:
			n = size
		}
		out, line = append(out, terminal.Span{Text: line[:n], Style: style}), line[n:]
	}
	return out, ""
}

// block is how a comment or string of several lines looks, by its end.
func (l language) block(end Inside) terminal.Style {
	if strings.ContainsAny(string(end), "\"'`]") {
		return terminal.Style{Color: terminal.Green}
	}
	return terminal.Style{Attr: terminal.Faint}
}

func (l language) keyword(word string) bool {
	if l.names[0] == "sql" {
		word = strings.ToLower(word)
	}
	i := strings.Index(" "+l.keywords+" ", " "+word+" ")
	return i >= 0
}

// quoted returns the length of the string that the line begins with; one that
// does not end is a quote alone, such as an apostrophe.
func quoted(line string) int {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case line[0]:
			return i + 1
		}
	}
	return 1
}

// word returns the length of the name or number that the line begins with.
func word(line string) int {
	for i, c := range line {
		if c != '_' && c != '.' && !unicode.IsLetter(c) && !unicode.IsDigit(c) || c == '.' && !unicode.IsDigit(rune(line[0])) {
			return i
		}
	}
	return len(line)
}
