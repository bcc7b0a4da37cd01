package terminal

import (
	"bytes"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
)

// Event is something that a person did: a [Key], a [Paste] or a [Focus]; or a [Background].
type Event interface{ event() }

// Key is a key press.
type Key struct {
	// Name is the key with its modifiers, such as "ctrl+c", "alt+enter", "up"
	// or "a".
	Name string
	// Text is the text that the key types; empty for other keys.
	Text string
}

// Paste is text that came in one piece.
type Paste struct{ Text string }

// Focus reports whether the terminal's window has the focus.
type Focus bool

// Background is the terminal's report of its background.
type Background struct{ Dark bool }

func (Key) event()        {}
func (Paste) event()      {}
func (Focus) event()      {}
func (Background) event() {}

const (
	// escapeDelay bounds the wait of an escape for the rest of a sequence. A terminal sends
	// sequences at once; a person is slower.
	escapeDelay = 30 * time.Millisecond
	// replyDelay bounds the wait of the beginning of a report for its rest, which must not become
	// keys.
	replyDelay = time.Second
	// maxPaste bounds a paste in bytes.
	maxPaste = 16 << 20

	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// Read calls found with the terminal's events, until the terminal ends or stop is closed.
// It calls found without events when only time can tell the meaning of the bytes, such as a
// lone escape. One goroutine stays blocked in the read of a silent terminal; it ends with
// the next byte, or with the process.
func Read(r io.Reader, stop <-chan struct{}, found func([]Event)) {
	chunks := make(chan []byte)
	go func() {
		defer close(chunks)
		for {
			buf := make([]byte, 32<<10)
			n, err := r.Read(buf)
			if n > 0 {
				select {
				case chunks <- buf[:n]:
				case <-stop:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	var d decoder
	var expired <-chan time.Time
	for {
		var events []Event
		select {
		case chunk, more := <-chunks:
			if !more {
				return
			}
			events = d.feed(chunk)
		case <-expired:
			events = d.expire()
		case <-stop:
			return
		}
		if expired = nil; len(d.rest) > 0 && !d.pasting {
			expired = time.After(d.delay())
		}
		if len(events) > 0 || expired != nil {
			found(events)
		}
	}
}

// decoder makes events of bytes that come in pieces of any size.
type decoder struct {
	uv      uv.EventDecoder
	rest    []byte // not decoded yet
	pasting bool
	paste   bytes.Buffer
}

func (d *decoder) feed(data []byte) []Event {
	d.rest = append(d.rest, data...)
	return d.decode(false)
}

// expire decodes the pending bytes as complete. It drops a report without an end.
func (d *decoder) expire() []Event {
	if d.reports() {
		d.rest = nil
	}
	return d.decode(true)
}

// delay returns the time for which the pending bytes wait for more.
func (d *decoder) delay() time.Duration {
	if d.reports() {
		return replyDelay
	}
	return escapeDelay
}

// reports reports whether the pending bytes are the beginning of a report of the background.
func (d *decoder) reports() bool {
	const reply = "\x1b]11;"
	n := min(len(d.rest), len(reply))
	return n > 2 && string(d.rest[:n]) == reply[:n]
}

func (d *decoder) decode(expired bool) (events []Event) {
	for len(d.rest) > 0 {
		if d.pasting {
			if !d.takePaste(&events) {
				return events
			}
			continue
		}
		if bytes.HasPrefix(d.rest, []byte(pasteBegin)) {
			d.rest, d.pasting = d.rest[len(pasteBegin):], true
			continue
		}
		if !expired && (partial(d.rest) || d.reports() && !terminated(d.rest)) {
			return events
		}
		n, e := d.next()
		if _, unknown := e.(uv.UnknownEvent); unknown && !expired {
			return events
		}
		if n <= 0 {
			n = 1
		}
		d.rest = d.rest[n:]
		switch e := e.(type) {
		case uv.KeyPressEvent:
			events = append(events, keysOf(e)...)
		case uv.FocusEvent:
			events = append(events, Focus(true))
		case uv.BlurEvent:
			events = append(events, Focus(false))
		case uv.BackgroundColorEvent:
			if e.Color != nil {
				events = append(events, Background{e.IsDark()})
			}
		case uv.DarkColorSchemeEvent:
			events = append(events, Background{true})
		case uv.LightColorSchemeEvent:
			events = append(events, Background{false})
		}
	}
	d.rest = nil
	return events
}

// next decodes the first event of rest, n bytes long. It skips bytes on which the library
// panics.
func (d *decoder) next() (n int, e uv.Event) {
	defer func() {
		if recover() != nil {
			n, e = 1, nil
		}
	}()
	return d.uv.Decode(d.rest)
}

// takePaste moves the pending part of a paste, and reports whether the paste is complete.
func (d *decoder) takePaste(events *[]Event) bool {
	end := bytes.Index(d.rest, []byte(pasteEnd))
	take := end
	if end < 0 { // the end marker may be incomplete
		take = max(len(d.rest)-len(pasteEnd)+1, 0)
	}
	if room := maxPaste - d.paste.Len(); room > 0 {
		d.paste.Write(d.rest[:min(take, room)])
	}
	if end < 0 {
		d.rest = append([]byte(nil), d.rest[take:]...)
		return false
	}
	d.rest, d.pasting = d.rest[end+len(pasteEnd):], false
	text := strings.ToValidUTF8(d.paste.String(), "\uFFFD")
	d.paste = bytes.Buffer{}
	*events = append(*events, Paste{strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)})
	return true
}

// terminated reports whether a report has its end: BEL or ST.
func terminated(data []byte) bool {
	return bytes.IndexByte(data, '\a') >= 0 || bytes.Contains(data, []byte("\x1b\\"))
}

// partial reports whether data may be the beginning of a longer sequence.
func partial(data []byte) bool {
	if data[0] != 0x1b {
		return !utf8.FullRune(data)
	}
	if len(data) == 1 {
		return true
	}
	if strings.IndexByte("[O]P_^X", data[1]) < 0 {
		return data[1] == 0x1b && len(data) == 2 || !utf8.FullRune(data[1:])
	}
	if data[1] != '[' {
		return len(data) == 2
	}
	for _, b := range data[2:] { // ECMA-48: parameters and intermediates, then the end
		if b >= 0x40 && b <= 0x7e {
			return false
		}
	}
	return true
}

func keysOf(k uv.KeyPressEvent) []Event {
	key := Key{Name: k.Keystroke(), Text: k.Text}
	if k.Mod&^(uv.ModShift|uv.ModCapsLock|uv.ModNumLock) != 0 {
		key.Text = ""
	}
	if key.Name == "alt+esc" { // twice, and so fast that they came together
		return []Event{Key{Name: "esc"}, Key{Name: "esc"}}
	}
	return []Event{key}
}
