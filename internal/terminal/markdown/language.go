package markdown

// Language describes the comments, strings, numbers and keywords of a language.
type Language struct {
	Names    []string    `json:"names"`
	Line     []string    `json:"line"`   // starts a comment up to the line's end
	Blocks   [][2]string `json:"blocks"` // comments and strings that may have several lines
	Quotes   string      `json:"quotes"` // delimits a string within a line
	Keywords string      `json:"keywords"`
}

// Languages returns the table of languages; ADR 15 explains why it is no library. The web
// page has a copy.
func Languages() []Language {
	c := [][2]string{{"/*", "*/"}}
	return []Language{
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
