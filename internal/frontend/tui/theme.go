package tui

import (
	"time"

	"github.com/settle-agent/settle/internal/terminal"
)

// backgroundDelay bounds the wait of the first frame for the terminal's report of its background,
// so that the first rows have its colors. Later reports count as well.
const backgroundDelay = 40 * time.Millisecond

// autoThemeName is the theme that follows the terminal's background.
const autoThemeName = "auto"

// autoTheme is the state of the theme that follows the terminal's background.
type autoTheme struct {
	on        bool
	reported  string // the theme for the background; empty while the terminal is silent
	heldUntil time.Time
}

// followBackground asks the terminal for its background.
func (u *UI) followBackground() {
	u.display.auto.on = true
	if t, ok := u.Terminal.(interface{ ReportBackground() error }); ok {
		_ = t.ReportBackground() // without an answer, the theme stays
	}
}

// backgroundReported has the colors of later rows fit the background.
func (u *UI) backgroundReported(b terminal.Background) {
	a := &u.display.auto
	a.heldUntil, a.reported = time.Time{}, "light"
	if b.Dark {
		a.reported = "dark"
	}
	if a.on {
		u.usePalette(u.Palette.With(a.reported))
	}
}

// usePalette changes the colors of later rows, and of the live region.
func (u *UI) usePalette(p terminal.Palette) {
	u.Palette, u.display.dirty = p, true
	u.display.screen.Palette(p)
	u.display.screen.Resize(u.display.screen.Size()) // forces a full redraw
}

// theme changes the colors of later rows. Rows in the scrollback keep theirs.
func (u *UI) theme(name string) {
	if name == "" {
		u.pickTheme()
		return
	}
	if _, ok := terminal.ThemeNamed(name); !ok && name != autoThemeName {
		u.showHint("there is no theme %q; /theme lists them", name)
		return
	}
	u.usePalette(u.paletteOf(name))
	switch {
	case !u.Palette.Color:
		u.showHint("NO_COLOR is set: there are no colors")
		return
	case name == autoThemeName:
		u.followBackground()
	default:
		u.display.auto.on = false
	}
	u.showHint("the theme is %s; terminal.theme in the configuration keeps it", name)
}

// paletteOf returns the palette of a theme.
func (u *UI) paletteOf(name string) terminal.Palette {
	if name == autoThemeName {
		if name = u.display.auto.reported; name == "" {
			name = terminal.Themes()[0].Name
		}
	}
	return u.Palette.With(name)
}

// pickTheme opens a menu of the themes. The live region has the colors of the selected one.
func (u *UI) pickTheme() {
	m := &menu{title: "Theme", pick: func(one choice) { u.theme(one.id) }}
	m.all = []choice{{
		id: autoThemeName, label: autoThemeName, detail: "light or dark, as the terminal reports its background",
	}}
	for _, t := range terminal.Themes() {
		m.all = append(m.all, choice{id: t.Name, label: t.Name, detail: t.About})
	}
	m.sample = func(one choice) ([]terminal.Line, terminal.Palette) { return u.themeSample(), u.paletteOf(one.id) }
	now := u.Palette.Theme.Name
	if u.display.auto.on {
		now = autoThemeName
	}
	u.openMenu(m.selectID(now))
}

// themeSample are rows in each color.
func (u *UI) themeSample() []terminal.Line {
	span := func(text string, style terminal.Style) terminal.Span { return terminal.Span{Text: text, Style: style} }
	rows := []terminal.Line{
		{span(bandMark, accent().With(terminal.Bold)), span("Say hello in another language", bold())},
		{span("? settle asks before this call", warning().With(terminal.Bold))},
		{span("   1 -  ", failure()), span("print(\"hello\")", failure())},
		{span("   1 +  ", success()), span("print(\"bonjour\")", success())},
		{span("✓ ", success()), span("edit hello.py", bold()), span("  +1 −1, 12 ms", faint())},
	}
	for _, b := range blocksOf("```python\nreturn \"text\", 42  # a comment\n```") {
		rows = append(rows, u.view.printout.renderer.Rows(b, 60)...)
	}
	return rows
}
