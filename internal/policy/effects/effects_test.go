package effects_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"github.com/settle-agent/settle/internal/policy/effects"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// Parse splits commands into the same words as each shell.
func TestWordsAreThoseOfShells(t *testing.T) {
	var shells [][]string
	for _, argv := range [][]string{{"bash", "-c"}, {"dash", "-c"}, {"busybox", "sh", "-c"}} {
		if path, err := exec.LookPath(argv[0]); err == nil {
			shells = append(shells, append([]string{path}, argv[1:]...))
		}
	}
	piece := rapid.SampledFrom([]string{
		"a", " b", "b c", `\ `, `\\`, `'x y'`, `"x y"`, `"\$x"`, `"\a"`, `''`, `""`, `\'`, `\"`, `'"'`, `"'"`, "{a,b}", "{1..3}", `\*`, `"*"`, `\{a,b}`, `$'x'`, `$"x"`, "=",
		"~", "#", "-", `\#`, "%", "{}", "{", ",", "x=~", "a:~", "!", `"!"`, "^", "@", "[", "]", `"$"`, `"$ "`, `"a$|b"`, `"é"`, `'é\'`, "\t", " \\\n", "\n", "a\\\nb", " # x", `"a\\"`, `"\"`, `'\'`, "+", "HEAD~1",
		`"` + "\n" + `"`, `\~`, `\!`, `\(`, `\;`, "0", "2", "[a]", "a]", ":",
	})
	compared := 0
	rapid.Check(t, func(rt *rapid.T) {
		text := "show " + strings.Join(rapid.SliceOfN(piece, 1, 7).Draw(rt, "pieces"), "")
		s := effects.Parse(text)
		if s.Why != "" || len(s.Commands) != 1 ||
			slices.ContainsFunc(s.Commands[0].Words, func(w effects.Word) bool { return w.Glob }) {
			return // needs an approval
		}
		compared++
		var want []string
		for _, w := range s.Commands[0].Words {
			want = append(want, w.Text)
		}
		for _, argv := range shells {
			cmd := exec.Command(argv[0], append(argv[1:], `show() { printf '%s\0' show "$@"; }; `+text)...)
			cmd.Env = []string{"HOME=/home/somebody", "PATH=/usr/bin:/bin"}
			out, err := cmd.Output()
			if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil ||
				!slices.Equal(got, want) {
				rt.Fatalf("%q: %s has %q (%v), settle %q", text, argv[0], got, err, want)
			}
		}
	})
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

func TestParse(t *testing.T) {
	s := effects.Parse("cd sub && sort -u f* < in | uniq -c; cat x 2>/dev/null")
	if s.Why != "" {
		t.Fatal(s.Why)
	}
	var got []string
	for _, c := range s.Commands {
		line := c.Text + " in " + c.Dir + ":"
		for _, e := range c.Effects {
			line += " " + string(e.Kind) + " " + e.Path
		}
		got = append(got, line+c.Why)
	}
	want := []string{
		"cd sub in .: enters sub", "sort -u f* < in in sub: reads f* starts sort reads in", "uniq -c in sub: starts uniq",
		"cat x 2>/dev/null in sub: reads x starts cat",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if s = effects.Parse("for f in a; do rm x; done"); s.Why == "" || len(s.Commands) != 0 {
		t.Errorf("a loop: %+v", s)
	}
}

// agrees checks that a real parser, for bash and for POSIX shells, returns the same simple
// commands and words.
func agrees(t testing.TB, text string) {
	t.Helper()
	s := effects.Parse(text)
	if s.Why != "" {
		return
	}
	for _, lang := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
		file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
		if err != nil {
			t.Fatalf("%q is plain, and as %v: %v", text, lang, err)
		}
		var found []*syntax.CallExpr
		declares := false
		syntax.Walk(file, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CallExpr:
				found = append(found, n)
			case *syntax.BinaryCmd:
				if n.Op == syntax.PipeAll {
					t.Fatalf("%q is plain, and as %v has |&", text, lang)
				}
			case *syntax.Stmt:
				if n.Background || n.Negated || n.Coprocess {
					t.Fatalf("%q is plain, and as %v has %q", text, lang, text[n.Pos().Offset():n.End().Offset()])
				}
			// bash's name for some commands, none of which is in the table
			case *syntax.DeclClause, *syntax.LetClause:
				declares = true
				return false
			case nil, *syntax.File, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.Redirect, *syntax.Comment:
			default:
				t.Fatalf("%q is plain, and as %v has a %T", text, lang, n)
			}
			return true
		})
		if declares {
			if !slices.ContainsFunc(s.Commands, func(c effects.Command) bool { return c.Why != "" }) {
				t.Fatalf("%q is harmless, and declares something", text)
			}
			continue
		}
		if len(found) != len(s.Commands) {
			t.Fatalf("%q: %d commands, and as %v %d", text, len(s.Commands), lang, len(found))
		}
		for i, call := range found {
			if len(call.Assigns) > 0 || len(call.Args) != len(s.Commands[i].Words) {
				t.Fatalf("%q: the words %v, and as %v %d", text, s.Commands[i].Words, lang, len(call.Args))
			}
		}
	}
}

func TestParsersAgree(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"ls", "a", " ", " ", "\n", " | ", "|", "||", "&&", ";", "<", ">", ">>", ">&", "2", "1", "10", "&", "'", `"`, `\`, "*", "?", "[", "]", "!", "#", "~", "=", "$", "(", ")", "{", "}", "if", "then", "do",
		"time", "cd ", "/dev/null", "\t", " \\\n", "'x y'", `"a b"`, `"$"`, "é", "-x", ":", "%", "^", "`", "/", "..",
	})
	rapid.Check(t, func(rt *rapid.T) { agrees(t, strings.Join(rapid.SliceOfN(piece, 1, 12).Draw(rt, "pieces"), "")) })
	for _, name := range []string{"everyday.txt", "harmful.txt", "options.txt", "traps.txt"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			agrees(t, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "⏎", "\n"))
		}
	}
}

// No text causes a panic, and an analysed script has no hidden command.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"ls -la", "a && b || c; d | e", "cd x && cat < y 2>&1", "git -C a log -p -- x", "find . -name '*.go'", "sed -n '1,5p' f", "echo \"a$\" \\; #x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := effects.Parse(text)
		if s.Why == "" && strings.ContainsAny(text, "`\x00\r") && !strings.ContainsAny(text, "'#\\") {
			t.Errorf("%q is plain", text)
		}
		agrees(t, text)
	})
}
