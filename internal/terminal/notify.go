package terminal

import (
	"strings"
)

// Notification is the kind of sequence by which a terminal notifies a person who looks elsewhere.
type Notification string

// Kinds of notification. Terminals ignore unsupported kinds.
const (
	Bell   Notification = "bell"
	OSC9   Notification = "osc9"   // iTerm2, WezTerm, Ghostty, Windows Terminal, kitty
	OSC777 Notification = "osc777" // rxvt, foot, Ghostty, WezTerm, VTE
	Silent Notification = "off"
)

// Passthrough is the multiplexer between a program and the terminal, which forwards marked
// sequences.
type Passthrough string

// The multiplexers. tmux does so with "allow-passthrough on".
const (
	Direct Passthrough = ""
	Tmux   Passthrough = "tmux"
	GNU    Passthrough = "screen"
)

// PassthroughOf returns the multiplexer that the environment names.
func PassthroughOf(getenv func(string) string) Passthrough {
	switch {
	case getenv("TMUX") != "":
		return Tmux
	case getenv("STY") != "":
		return GNU
	}
	return Direct
}

// maxNotice bounds the text of a notification, in characters.
const maxNotice = 120

// Append appends the sequence that notifies the person. A bell needs no passthrough,
// because multiplexers ring their own.
func (n Notification) Append(b []byte, through Passthrough, title, text string) []byte {
	title, text = noticeText(title), noticeText(text)
	var sequence string
	switch n {
	case Bell:
		return append(b, '\a')
	case OSC9:
		sequence = "\x1b]9;" + title + ": " + text + "\a"
	case OSC777:
		sequence = "\x1b]777;notify;" + title + ";" + text + "\a"
	default:
		return b
	}
	switch through {
	case Tmux:
		sequence = "\x1bPtmux;" + strings.ReplaceAll(sequence, "\x1b", "\x1b\x1b") + "\x1b\\"
	case GNU:
		sequence = "\x1bP" + sequence + "\x1b\\"
	}
	return append(b, sequence...)
}

// noticeText removes everything that could end the escape sequence around the text, or
// start a field of it.
func noticeText(text string) string {
	text = strings.ReplaceAll(OneLine(text), ";", ",")
	if short := []rune(text); len(short) > maxNotice {
		text = string(short[:maxNotice-1]) + "…"
	}
	return text
}
