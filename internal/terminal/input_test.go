package terminal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Keys are the same however the bytes come in.
func TestKeys(t *testing.T) {
	for in, want := range map[string][]Event{
		"a":                       {Key{"a", "a"}},
		"ß日":                      {Key{"ß", "ß"}, Key{"日", "日"}},
		"\r":                      {Key{"enter", ""}},
		"\t":                      {Key{"tab", ""}},
		"\x1b[Z":                  {Key{"shift+tab", ""}},
		"\n":                      {Key{"ctrl+j", ""}},
		"\x03":                    {Key{"ctrl+c", ""}},
		"\x7f":                    {Key{"backspace", ""}},
		"\x1b[A\x1b[B":            {Key{"up", ""}, Key{"down", ""}},
		"\x1b\r":                  {Key{"alt+enter", ""}},
		"\x1bb":                   {Key{"alt+b", ""}},
		"\x1b[27u":                {Key{"esc", ""}},
		"\x1b[13;2u":              {Key{"shift+enter", ""}},
		"\x1b[99;5u":              {Key{"ctrl+c", ""}},
		"\x1b[1;5D":               {Key{"ctrl+left", ""}},
		"\x1b[200~a\rb\x1b[201~c": {Paste{"a\nb"}, Key{"c", "c"}},
		"\x1b[I\x1b[O":            {Focus(true), Focus(false)},
		"\x1b[?1u":                nil, // an answer of the terminal
	} {
		var whole decoder
		if diff := cmp.Diff(want, append(whole.feed([]byte(in)), whole.expire()...)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
		var pieces decoder
		var got []Event
		for i := range len(in) {
			got = append(got, pieces.feed([]byte{in[i]})...)
		}
		if diff := cmp.Diff(want, append(got, pieces.expire()...)); diff != "" {
			t.Errorf("%q, byte by byte: %s", in, diff)
		}
	}
}

// A lone escape is a key as soon as nothing follows it.
func TestEscape(t *testing.T) {
	var d decoder
	if got := d.feed([]byte("\x1b")); got != nil {
		t.Errorf("before its time: %v", got)
	}
	if diff := cmp.Diff([]Event{Key{"esc", ""}}, d.expire()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(
		[]Event{Key{"esc", ""}, Key{"esc", ""}}, append(d.feed([]byte("\x1b\x1b")), d.expire()...),
	); diff != "" {
		t.Error(diff)
	}
}

// A long paste is one event, and key sequences in it are text.
func TestLongPaste(t *testing.T) {
	text := strings.Repeat("line \x1b[A\x03 of text\n", 60_000)
	var d decoder
	var got []Event
	for rest := pasteBegin + text + pasteEnd; rest != ""; {
		n := min(len(rest), 4093)
		got = append(got, d.feed([]byte(rest[:n]))...)
		rest = rest[n:]
	}
	if len(got) != 1 || got[0] != (Paste{text}) {
		t.Errorf("got %d events", len(got))
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte("\x1b[200~x\x1b[201~\x1b[A\x1b"), 3)
	f.Add([]byte("abc\x9bM !!"), 0) // the library panics
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		var d decoder
		at = max(min(at, len(data)), 0)
		d.feed(data[:at])
		d.feed(data[at:])
		d.expire()
		if !d.pasting && len(d.rest) > 0 {
			t.Errorf("%q is left of %q", d.rest, data)
		}
	})
}

// A report of the background is no key, in each spelling and in pieces, and takes no key away.
func TestBackgroundReports(t *testing.T) {
	for data, want := range map[string][]Event{
		"a\x1b]11;rgb:0000/0000/0000\x1b\\b": {Key{"a", "a"}, Background{true}, Key{"b", "b"}},
		"a\x1b]11;rgb:ffff/ffff/e6e6\x07b":   {Key{"a", "a"}, Background{false}, Key{"b", "b"}},
		"\x1b[?997;1nx":                      {Background{true}, Key{"x", "x"}},
		"\x1b[?997;2nx":                      {Background{false}, Key{"x", "x"}},
	} {
		for cut := range len(data) {
			var d decoder
			got := append(d.feed([]byte(data[:cut])), d.feed([]byte(data[cut:]))...)
			got = append(got, d.expire()...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q cut at %d: %s", data, cut, diff)
			}
		}
	}
	var d decoder
	if got := d.feed([]byte("\x1b]11;rgb:00")); len(got) > 0 || d.delay() != replyDelay {
		t.Errorf("the beginning of a report is %v, and waits %s", got, d.delay())
	}
	if got := d.expire(); len(got) > 0 {
		t.Errorf("a report without an end is %v", got)
	}
	if got := append(d.feed([]byte("\x1b]")), d.expire()...); len(got) != 1 || d.delay() != escapeDelay {
		t.Errorf("Alt-] is %v", got)
	}
}
