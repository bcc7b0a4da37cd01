package terminal_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/terminal"
)

func TestLinkedFindsAddresses(t *testing.T) {
	plain := terminal.Style{}
	for text, want := range map[string][]string{
		"no link, http and https:// are none":                   nil,
		"https://example.org":                                   {"https://example.org"},
		"see http://a.b/c?d=e&f=g#h, (https://x.org/y_(z)).":    {"http://a.b/c?d=e&f=g#h", "https://x.org/y_(z)"},
		"[a](https://x.org/) and **https://y.org/a_b**":         {"https://x.org/", "https://y.org/a_b"},
		"\"https://x.org/\" <https://y.org> `https://z.org`":    {"https://x.org/", "https://y.org", "https://z.org"},
		"xhttps://x.org and ftp://x.org and javascript://x.org": nil,
		"https://x.org/\x1b]8;;evil\a https://y.org/\u202ez":    {"https://x.org/", "https://y.org/"},
		"日本https://x.org/語、語":                                   {"https://x.org/語"},
	} {
		for cut := range len(text) + 1 { // in one span, and in two
			line := terminal.Line{
				{Text: text[:cut], Style: plain},
				{Text: text[cut:], Style: plain.With(terminal.Bold)},
			}
			var got []string
			shown := ""
			last := ""
			for _, s := range terminal.Linked(line) {
				if s.Style.Link != "" && s.Style.Link != last {
					got = append(got, s.Style.Link)
				}
				last = s.Style.Link
				shown += s.Text
			}
			if diff := cmp.Diff(want, got); diff != "" || shown != text {
				t.Fatalf("%q cut at %d: %q (-want +got):\n%s", text, cut, shown, diff)
			}
		}
	}
}

func TestPaletteWritesLinks(t *testing.T) {
	line := terminal.Line{
		{Text: "see "},
		{Text: "https://x.", Style: terminal.Style{Link: "https://x.org/é"}},
		{Text: "org/é", Style: terminal.Style{Link: "https://x.org/é", Attr: terminal.Bold}},
	}
	p := terminal.Palette{Attributes: true, Links: true}
	const want = "see \x1b]8;id=%s;https://x.org/%%C3%%A9\x1b\\https://x.\x1b[0;1morg/é\x1b[0m\x1b]8;;\x1b\\"
	id := regexp.MustCompile(`id=([0-9a-f]{8});`).FindStringSubmatch(string(p.Append(nil, line)))
	if got := string(p.Append(nil, line)); id == nil || got != fmt.Sprintf(want, id[1]) {
		t.Errorf("got %q", got)
	}
	p.Links = false
	if got := string(p.Append(nil, line)); strings.Contains(got, "]8;") {
		t.Errorf("without links: %q", got)
	}
}

// Foreign addresses begin no sequence, and lead to nothing but the web.
func TestLinksAreHarmless(t *testing.T) {
	sequence := regexp.MustCompile(`\x1b\]8;(id=[0-9a-f]{8};https?://[!-~]+|;)\x1b\\`)
	for _, link := range []string{
		"https://x\x1b\\\x1b]0;owned\a", "https://x\a\x1b[2J", "https://x\u009c\x9c\n\r y", "file:///etc/passwd",
		"javascript://x", "x-app://run", "HTTPS://X", "https://" + strings.Repeat("long", 1000), "https", "://", "\x1b://",
	} {
		line := terminal.Line{{Text: "text", Style: terminal.Style{Link: link}}, {Text: "."}}
		got := string(terminal.Palette{Links: true}.Append(nil, line))
		if rest := sequence.ReplaceAllString(got, ""); rest != "text." {
			t.Errorf("%.40q: %q", link, got)
		}
	}
}

func TestLinksOfTerminals(t *testing.T) {
	for env, want := range map[string]bool{
		"TERM=xterm-256color":                             false,
		"TERM=xterm-kitty":                                true,
		"TERM=dumb WT_SESSION=1":                          false,
		"TERM=xterm-256color TERM_PROGRAM=WezTerm":        true,
		"TERM=xterm-256color TERM_PROGRAM=Apple_Terminal": false,
		"VTE_VERSION=5000":                                false,
		"VTE_VERSION=7600":                                true,
		"VTE_VERSION=7600 TMUX=x TERM_PROGRAM=tmux":       false,
		"VTE_VERSION=7600 TMUX=x TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.3a": false,
		"TMUX=x TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.4":                   true,
		"TERM=xterm-kitty STY=x":                                              false,
	} {
		values := map[string]string{}
		for _, one := range strings.Fields(env) {
			name, value, _ := strings.Cut(one, "=")
			values[name] = value
		}
		if got := terminal.LinksOf(func(name string) string { return values[name] }); got != want {
			t.Errorf("%s: %v", env, got)
		}
	}
}
