package tui

import "github.com/settle-agent/settle/internal/terminal"

// theme changes the colors of what is drawn from now on. Rows above stay as they are.
func (f *Face) theme(name string) {
	if name == "" {
		f.pickTheme()
		return
	}
	if _, ok := terminal.ThemeNamed(name); !ok {
		f.say("there is no theme %q; /theme lists them", name)
		return
	}
	f.Palette = f.Palette.With(name)
	f.screen.Palette(f.Palette)
	f.screen.Resize(f.screen.Size()) // draws everything anew
	switch {
	case !f.Palette.Color:
		f.say("NO_COLOR is set: there are no colors")
	default:
		f.say("the theme is %s; terminal.theme in the configuration keeps it", name)
	}
}

func (f *Face) pickTheme() {
	m := &menu{title: "Theme", pick: func(one choice) { f.theme(one.id) }}
	for _, t := range terminal.Themes() {
		m.all = append(m.all, choice{id: t.Name, label: t.Name, detail: t.About})
	}
	f.openMenu(m.selectID(f.Palette.Theme.Name))
}
