package sandbox

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/disk"
)

// form is a piece of a Seatbelt profile: a list, a word, or a string.
type form struct {
	list   []form
	word   string
	text   string
	isText bool
}

// readProfile reads a profile as Scheme does. Every form has to be closed.
func readProfile(s string) (forms []form, err error) {
	r := &formReader{rest: s}
	for {
		r.skip()
		if r.rest == "" {
			return forms, nil
		}
		f, err := r.read()
		if err != nil {
			return nil, err
		}
		forms = append(forms, f)
	}
}

type formReader struct{ rest string }

func (r *formReader) skip() { r.rest = strings.TrimLeft(r.rest, " \n\t\r") }

func (r *formReader) read() (form, error) {
	r.skip()
	switch {
	case r.rest == "":
		return form{}, fmt.Errorf("the profile ends in a form")
	case r.rest[0] == ')' || r.rest[0] == ';':
		return form{}, fmt.Errorf("unexpected %.20q", r.rest)
	case r.rest[0] == '(':
		r.rest = r.rest[1:]
		var f form
		for {
			if r.skip(); strings.HasPrefix(r.rest, ")") {
				r.rest = r.rest[1:]
				return f, nil
			}
			next, err := r.read()
			if err != nil {
				return f, err
			}
			f.list = append(f.list, next)
		}
	case r.rest[0] == '"':
		return r.readText(true)
	case strings.HasPrefix(r.rest, `#"`):
		r.rest = r.rest[1:]
		return r.readText(false)
	}
	end := strings.IndexAny(r.rest, " \n\t\r()\";")
	if end < 0 {
		end = len(r.rest)
	}
	f := form{word: r.rest[:end]}
	r.rest = r.rest[end:]
	return f, nil
}

func (r *formReader) readText(escapes bool) (form, error) {
	var text strings.Builder
	for i := 1; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '"':
			r.rest = r.rest[i+1:]
			return form{text: text.String(), isText: true}, nil
		case c == '\\' && escapes:
			if i++; i == len(r.rest) || r.rest[i] != '\\' && r.rest[i] != '"' {
				return form{}, fmt.Errorf("an escape that means something else to Scheme")
			}
			text.WriteByte(r.rest[i])
		default:
			text.WriteByte(c)
		}
	}
	return form{}, fmt.Errorf("a text without an end")
}

// head is the word at the beginning of a list.
func (f form) head() string {
	if len(f.list) == 0 {
		return ""
	}
	return f.list[0].word
}

// request is an operation of a program on a path or a network address.
type request struct{ operation, path, remote string }

// allowed is the answer of a profile: of the rules that match, the last one counts.
func allowed(t testing.TB, profile []form, ask request) (yes bool) {
	t.Helper()
	for _, f := range profile {
		if f.head() == "if" {
			f = f.list[2]
		}
		if f.head() != "allow" && f.head() != "deny" {
			continue
		}
		matches, filters := false, []form(nil)
		for _, part := range f.list[1:] {
			if part.list != nil {
				filters = append(filters, part)
				continue
			}
			prefix, open := strings.CutSuffix(part.word, "*")
			matches = matches || part.word == ask.operation || part.word == "default" ||
				open && strings.HasPrefix(ask.operation, prefix)
		}
		if !matches {
			continue
		}
		for _, filter := range filters {
			if matches = filter.matches(t, ask); matches {
				break
			}
		}
		if matches {
			yes = f.head() == "allow"
		}
	}
	return yes
}

func (f form) matches(t testing.TB, ask request) bool {
	t.Helper()
	switch f.head() {
	case "literal":
		return ask.path == f.list[1].text
	case "subpath":
		return disk.Within(f.list[1].text, ask.path)
	case "regex":
		return ask.path != "" && regexp.MustCompile(f.list[1].text).MatchString(ask.path)
	case "remote":
		return ask.remote != "" && (len(f.list) == 2 || ask.remote == f.list[2].text)
	case "local":
		return ask.remote != ""
	case "sysctl-name", "global-name", "ipc-posix-name":
		return ask.path == f.list[1].text
	case "sysctl-name-prefix":
		return strings.HasPrefix(ask.path, f.list[1].text)
	case "target", "require-all":
		return false
	}
	t.Fatalf("a filter that the test does not know: %+v", f)
	return false
}
