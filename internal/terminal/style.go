package terminal

import (
	"strings"
)

// Color is one that a [Theme] has a code for. In the default theme, it is the
// terminal's own, which the person has chosen to be readable on their background.
type Color uint8

// The colors.
const (
	Default Color = iota
	Red
	Green
	Yellow
	Blue
	Magenta
	Cyan
)

// Attribute is the emphasis of text besides its color.
type Attribute uint8

// The attributes.
const (
	Bold Attribute = 1 << iota
	Faint
	Italic
	Underline
	Strike
	Reverse
)

// Style is the color and the emphasis of a span. The zero value is plain text.
type Style struct {
	Color Color
	Attr  Attribute // any combination
	Link  string    // the address that the text leads to; empty for none
}

// With returns the style with more attributes.
func (s Style) With(a Attribute) Style {
	s.Attr |= a
	return s
}

// Span is text in one style.
type Span struct {
	Text  string
	Style Style
}

// Line is one line of spans, without line ends; [Wrap] makes rows of it.
type Line []Span

// Plain returns a line in one style.
func Plain(text string, style Style) Line { return Line{{text, style}} }

// Text returns the line's text, as it is shown.
func (l Line) Text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(clean(s.Text))
	}
	return b.String()
}

// Width returns how many columns the line takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += textWidth(clean(s.Text))
	}
	return n
}

// tab replaces a tab.
const tab = "    "

// clean makes foreign text harmless: it is the one way of text to the terminal.
func clean(text string) string {
	text = Text(text)
	if !strings.ContainsAny(text, "\t\n") {
		return text
	}
	return strings.NewReplacer("\t", tab, "\n", " ").Replace(text)
}

// Palette is the styles that a terminal supports.
type Palette struct {
	// Color allows colors; Attributes, the rest. NO_COLOR leaves only these.
	Color, Attributes bool
	// Links allows links (OSC 8).
	Links bool
	// Theme has the colors; one without a name is the default.
	Theme Theme
}

// Append appends the line for the terminal.
func (p Palette) Append(b []byte, l Line) []byte {
	styled, link := false, ""
	for _, s := range l {
		if p.Links && s.Style.Link != link {
			link = s.Style.Link
			b = appendLink(b, link)
		}
		code := p.code(s.Style)
		if code != "" || styled {
			b = append(b, "\x1b[0"...)
			b = append(b, code...)
			b = append(b, 'm')
		}
		styled = code != ""
		b = append(b, clean(s.Text)...)
	}
	if styled {
		b = append(b, "\x1b[0m"...)
	}
	if link != "" {
		b = appendLink(b, "")
	}
	return b
}

// code returns the parameters of SGR for the style, each after a semicolon.
func (p Palette) code(s Style) string {
	var b strings.Builder
	color := p.color(s)
	if s.Color == Default && color != "" { // the color replaces the attribute
		s.Attr &^= Faint
	}
	if p.Attributes {
		for n, code := range []string{"1", "2", "3", "4", "9", "7"} {
			if s.Attr&(1<<n) != 0 {
				b.WriteString(";" + code)
			}
		}
	}
	if color != "" {
		b.WriteString(";" + color)
	}
	return b.String()
}

// color returns the parameters for the style's color, empty for none.
func (p Palette) color(s Style) string {
	theme := p.Theme
	if theme.Name == "" {
		theme = defaultTheme()
	}
	switch {
	case !p.Color:
		return ""
	case s.Color == Default && s.Attr&Faint != 0:
		return theme.Faint
	}
	return theme.Codes[s.Color]
}
