package tui

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
	"github.com/settle-agent/settle/model/script"
)

// typeVi gives keys to an editor with a text: ⎋ is Esc, ® Ctrl-R, ↵ a line's end in insert.
func typeVi(e *editor, v *vi, keys string) {
	for _, r := range keys {
		k := terminal.Key{Name: string(r), Text: string(r)}
		switch r {
		case '⎋':
			if !v.normal {
				v.leave(e)
			} else {
				v.reset()
			}
			continue
		case '®':
			k = terminal.Key{Name: "ctrl+r"}
		case '↵':
			k = terminal.Key{Name: "ctrl+j"}
		}
		if !v.normal || !v.key(e, k) {
			e.key(keymap.Map{}.Action(keymap.Prompt, k.Name), k)
		}
		if v.normal {
			v.clamp(e)
		}
	}
}

// The text and the cursor (‸ stands before its character) after keys in normal mode.
func TestVi(t *testing.T) {
	for _, c := range []struct{ text, keys, want string }{
		{"‸one two", "w", "one ‸two"},
		{"‸one two", "e", "on‸e two"},
		{"one two‸", "b", "one ‸two"},
		{"‸one two", "$", "one tw‸o"},
		{"  on‸e", "0", "‸  one"},
		{"  on‸e", "^", "  ‸one"},
		{"one‸", "hh", "‸one"},
		{"‸one", "l", "o‸ne"},
		{"‸one", "9l", "on‸e"},
		{"‸a.b c", "w", "a‸.b c"},
		{"‸a.b c", "W", "a.b ‸c"},
		{"‸a.b c", "E", "a.‸b c"},
		{"a.b ‸c", "B", "‸a.b c"},
		{"‸one two three", "2w", "one two ‸three"},
		{"‸one\ntwo\nsix", "G", "one\ntwo\n‸six"},
		{"one\ntwo\nsi‸x", "gg", "‸one\ntwo\nsix"},
		{"‸one\ntwo\nsix", "2G", "one\n‸two\nsix"},
		{"on‸e\ntwo", "2j", "one\ntw‸o"},
		{"o‸ne", "x", "o‸e"},
		{"on‸e", "x", "o‸n"},
		{"‸one", "2x", "‸e"},
		{"‸one", "9x", "‸"},
		{"on‸e", "X", "o‸e"},
		{"‸one two three", "dw", "‸two three"},
		{"‸one two three", "2dw", "‸three"},
		{"‸one two three", "d2w", "‸three"},
		{"one ‸two", "dw", "one‸ "},
		{"‸one two", "de", "‸ two"},
		{"one ‸two", "db", "‸two"},
		{"one ‸two", "d0", "‸two"},
		{"one ‸two six", "d$", "one‸ "},
		{"one ‸two six", "D", "one‸ "},
		{"one ‸two\nsix", "dw", "one‸ \nsix"},
		{"‸one\ntwo\nsix", "dd", "‸two\nsix"},
		{"one\ntwo\n‸six", "dd", "one\n‸two"},
		{"‸one", "dd", "‸"},
		{"‸one\ntwo\nsix", "2dd", "‸six"},
		{"‸one\ntwo\nsix", "dj", "‸six"},
		{"one\n‸two\nsix", "dG", "‸one"},
		{"one\n‸two\nsix", "dgg", "‸six"},
		{"one\ntwo\n‸six", "dk", "‸one"},
		{"‸one two", "cwsix⎋", "si‸x two"},
		{"‸one two", "c2wsix⎋", "si‸x"},
		{"a‸ b", "cwx⎋", "a‸xb"},
		{"‸one\ntwo", "ccsix⎋", "si‸x\ntwo"},
		{"one ‸two", "Csix⎋", "one si‸x"},
		{"‸one", "sx⎋", "‸xne"},
		{"‸one\ntwo", "Sx⎋", "‸x\ntwo"},
		{"o‸ne two", "ciwx⎋", "‸x two"},
		{"o‸ne two", "diw", "‸ two"},
		{"o‸ne two", "daw", "‸two"},
		{"‸one two", "ywP", "one‸ one two"},
		{"‸one\ntwo", "yyp", "one\n‸one\ntwo"},
		{"‸one\ntwo", "yyjp", "one\ntwo\n‸one"},
		{"one\n‸two", "ddP", "‸two\none"},
		{"‸one\ntwo", "ddp", "two\n‸one"},
		{"‸ab", "xp", "b‸a"},
		{"‸one", "yy2p", "one\n‸one\none"},
		{"‸one\ntwo", "Yp", "one\n‸one\ntwo"},
		{"‸ab", "x3p", "baa‸a"},
		{"‸one", "rx", "‸xne"},
		{"‸one", "2rx", "x‸xe"},
		{"‸one", "9rx", "‸one"},
		{"‸one", "~", "O‸ne"},
		{"one\n‸  two", "kJ", "one‸ two"},
		{"‸one", "ix⎋", "‸xone"},
		{"‸one", "ax⎋", "o‸xne"},
		{"  on‸e", "Ix⎋", "  ‸xone"},
		{"‸one", "Ax⎋", "one‸x"},
		{"on‸e\ntwo", "ox⎋", "one\n‸x\ntwo"},
		{"one\nt‸wo", "Ox⎋", "one\n‸x\ntwo"},
		{"‸one", "xu", "‸one"},
		{"‸one", "xxuu", "‸one"},
		{"‸one", "xxu®", "‸e"},
		{"‸one", "ixyz⎋u", "‸one"},
		{"‸one two", "cwsix⎋u", "‸one two"},
		{"‸one", "u®", "‸one"},
		{"‸one two", "fo", "one tw‸o"},
		{"‸a,b,c", "f,;", "a,b‸,c"},
		{"‸a,b,c", "f,;,", "a‸,b,c"},
		{"‸a,b,c", "t,", "‸a,b,c"},
		{"‸a,b,c", "t,;", "a,‸b,c"},
		{"‸a,b,c", "df,", "‸b,c"},
		{"‸a,b,c", "dt,", "‸,b,c"},
		{"a,b‸,c", "F,", "a‸,b,c"},
		{"‸one", "fz", "‸one"},
		{"‸one", "dfz", "‸one"},
		{"‸one", "d⎋x", "‸ne"},
		{"‸one", "dzx", "‸ne"},
		{"‸one", "gzx", "‸ne"},
		{"‸", "xddpbwe$^0Gggu~Jrx", "‸"},
	} {
		before, after, _ := strings.Cut(c.text, "‸")
		e := &editor{parts: partsOf(before + after), at: len(partsOf(before))}
		v := &vi{on: true, normal: true}
		v.clamp(e)
		typeVi(e, v, c.keys)
		got := joinParts(e.parts[:e.at]) + "‸" + joinParts(e.parts[e.at:])
		if got != c.want {
			t.Errorf("%q, %s: %q, want %q", c.text, c.keys, got, c.want)
		}
	}
}

// For any keys, the cursor stays in the text.
func FuzzVi(f *testing.F) {
	f.Add("one two\n\n  three.four", "3wd2fecwx⎋jpPu®2ggdGyyp~JrxciwdawOx⎋")
	f.Add("", "ddpxXDCS⎋")
	f.Fuzz(func(t *testing.T, text, keys string) {
		if len(text) > 200 || len(keys) > 100 {
			return
		}
		e := &editor{parts: partsOf(text)}
		v := &vi{on: true, normal: true}
		for _, r := range keys {
			if len(e.parts) > 10_000 {
				return // counts make much of it
			}
			typeVi(e, v, string(r))
			behind := v.normal && e.at > 0 && e.at == e.lineEnd(e.at) && e.at > e.lineStart(e.at)
			if e.at < 0 || e.at > len(e.parts) || behind {
				t.Fatalf("after %q in %q, the cursor is at %d of %d", r, e.text(), e.at, len(e.parts))
			}
		}
	})
}

func TestViKeysEditPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{Sessions: &rich{}})
		p.types("/vi\r")
		p.sees("INSERT", "vi keys are on")
		p.types("one two\x1b")
		p.sees("NORMAL", "> one two")
		p.types("bcwsix\x1b")
		p.sees("NORMAL", "> one six")
		p.types("2d")
		p.sees("NORMAL 2d")
		p.types("\x1b")
		p.misses("NORMAL 2d")
		p.types("dd/") // a slash in normal mode searches earlier prompts
		p.sees("search:")
		p.types("\x1b")
		p.types("i/quit\r")
		p.left(code, 0)
	})
}

// Esc interrupts in every state, also where it leaves insert mode; Esc Esc goes back as
// ever where nothing runs.
func TestViEscInterrupts(t *testing.T) {
	for name, draft := range map[string]string{"an empty editor": "", "a draft": "a text"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, code := newPerson(
					t, Options{Keys: keymap.Map{Vi: true}, Sessions: &rich{}},
					script.Turn(script.Text("Some words"), script.Stall()),
				)
				p.types("go\r")
				p.sees("Some words", "INSERT", "working")
				if draft != "" {
					p.types(draft)
				}
				p.misses("interrupted")
				p.types("\x1b")
				p.sees("interrupted after", "NORMAL", strings.TrimRight("> "+draft, " "))
				p.types("dd")
				p.types("\x1b\x1b")
				p.sees("Go back to before")
				p.types("\x1b")
				p.types("\x04")
				p.left(code, 0)
			})
		})
	}
}
