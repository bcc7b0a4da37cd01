package tui

import "github.com/settle-agent/settle/internal/terminal"

// theme changes the colors of later rows. Rows in the scrollback keep theirs.
func (u *UI) theme(name string) {
	if name == "" {
		u.pickTheme()
		return
	}
	if _, ok := terminal.ThemeNamed(name); !ok {
		u.showHint("there is no theme %q; /theme lists them", name)
		return
	}
	u.Palette = u.Palette.With(name)
	u.display.screen.Palette(u.Palette)
	u.display.screen.Resize(u.display.screen.Size()) // forces a full redraw
	switch {
	case !u.Palette.Color:
		u.showHint("NO_COLOR is set: there are no colors")
	default:
		u.showHint("the theme is %s; terminal.theme in the configuration keeps it", name)
	}
}

func (u *UI) pickTheme() {
	m := &menu{title: "Theme", pick: func(one choice) { u.theme(one.id) }}
	for _, t := range terminal.Themes() {
		m.all = append(m.all, choice{id: t.Name, label: t.Name, detail: t.About})
	}
	u.openMenu(m.selectID(u.Palette.Theme.Name))
}
