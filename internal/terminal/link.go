package terminal

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// LinksOf reports whether the terminal that the environment describes takes links (OSC 8)
// and is known for it. Others ignore them, or write them as text.
func LinksOf(getenv func(string) string) bool {
	number := func(name string) int {
		n, _ := strconv.Atoi(getenv(name)) // 0 if there is none
		return n
	}
	program, term := getenv("TERM_PROGRAM"), getenv("TERM")
	switch {
	case term == "dumb", getenv("STY") != "":
		return false
	case getenv("TMUX") != "": // since 3.4; it passes links on if its own terminal takes them
		var major, minor int
		_, _ = fmt.Sscanf(getenv("TERM_PROGRAM_VERSION"), "%d.%d", &major, &minor) // 0 if there is none
		return program == "tmux" && (major > 3 || major == 3 && minor >= 4)
	case getenv("WT_SESSION") != "", number("VTE_VERSION") > 5000, number("KONSOLE_VERSION") >= 201200:
		return true
	}
	return slices.Contains([]string{"iTerm.app", "WezTerm", "ghostty", "vscode", "zed", "rio"}, program) ||
		slices.Contains([]string{"xterm-kitty", "xterm-ghostty", "alacritty", "foot", "foot-extra", "wezterm"}, term)
}

// maxLink bounds an address: VTE takes no longer ones.
const maxLink = 2000

// address returns the address of a link with nothing that could end the sequence around
// it. It is empty for an address that is none of the web's: a link to a file or to a
// program could run something.
func address(link string) string {
	scheme, rest, ok := strings.Cut(link, "://")
	if scheme = strings.ToLower(scheme); !ok || scheme != "http" && scheme != "https" {
		return ""
	}
	var b strings.Builder
	b.WriteString(scheme + "://")
	for _, c := range []byte(rest) {
		if c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	if b.Len() > maxLink {
		return ""
	}
	return b.String()
}

// appendLink begins a link, or ends it if it is empty or none of the web's. The parts of one
// link in several rows have one ID.
func appendLink(b []byte, link string) []byte {
	to := address(link)
	if to == "" {
		return append(b, "\x1b]8;;\x1b\\"...)
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(to)) // never fails
	return fmt.Appendf(b, "\x1b]8;id=%08x;%s\x1b\\", hash.Sum32(), to)
}

// Linked returns the line with links on the web addresses in its text that have none.
func Linked(l Line) Line {
	var text string
	for _, s := range l {
		text += s.Text
	}
	if !strings.Contains(text, "://") {
		return l
	}
	var out Line
	at, from, to := 0, 0, 0 // of the span, and of the next address
	for _, s := range l {
		for s.Text != "" {
			if at >= to && to < len(text) {
				from, to = nextAddress(text, at)
			}
			end, link := from, ""
			if at >= from {
				end, link = to, text[from:to]
			}
			n := min(max(end-at, 0), len(s.Text))
			if n == 0 {
				n = len(s.Text)
			}
			part := Span{s.Text[:n], s.Style}
			if part.Style.Link == "" {
				part.Style.Link = link
			}
			out, at, s.Text = append(out, part), at+n, s.Text[n:]
		}
	}
	return out
}

// nextAddress returns the bounds of the next web address in a text; the end of the text if
// there is none.
func nextAddress(text string, at int) (from, to int) {
	for at < len(text) {
		i := strings.Index(text[at:], "http")
		if i < 0 {
			break
		}
		from = at + i
		at = from + len("http")
		scheme := strings.TrimPrefix(text[at:], "s")
		rest, ok := strings.CutPrefix(scheme, "://")
		if !ok || from > 0 && text[from-1] < 0x80 && isWord(rune(text[from-1])) {
			continue
		}
		n := strings.IndexFunc(rest, func(r rune) bool { return !inAddress(r) })
		if n < 0 {
			n = len(rest)
		}
		if n = len(withoutPunctuation(rest[:n])); n > 0 {
			return from, len(text) - len(rest) + n
		}
	}
	return len(text), len(text)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// inAddress reports whether the character can be part of an address in a text.
func inAddress(r rune) bool {
	if r >= 0x80 {
		return isWord(r)
	}
	return r > ' ' && r < 0x7f && !strings.ContainsRune("<>\"'`{}|\\^", r)
}

// withoutPunctuation removes the punctuation of the sentence around an address.
func withoutPunctuation(text string) string {
	for text != "" {
		switch last := text[len(text)-1]; {
		case strings.IndexByte(".,:;!?*_", last) >= 0:
		case last == ')' && strings.Count(text, ")") > strings.Count(text, "("):
		case last == ']' && strings.Count(text, "]") > strings.Count(text, "["):
		default:
			return text
		}
		text = text[:len(text)-1]
	}
	return text
}
