package terminal

// Theme is a table of colors: the parameters of SGR (ECMA-48) for each color that
// rows are drawn in. A color that it leaves out is the terminal's text color.
type Theme struct {
	Name, About string
	Codes       Codes
	// Faint is the color of faint text; empty leaves it to the terminal, of which some
	// cannot, and others make it hard to read.
	Faint string
}

// Codes has the parameters of each color.
type Codes [Cyan + 1]string

func defaultTheme() Theme {
	return Theme{
		Name: "default", About: "the 16 colors of your terminal",
		Codes: Codes{Red: "31", Green: "32", Yellow: "33", Blue: "34", Magenta: "35", Cyan: "36"},
	}
}

// Themes returns the color tables, the default first. The themes light and dark use the
// 256-color palette, which is the same on every terminal.
func Themes() []Theme {
	return []Theme{
		defaultTheme(),
		{
			Name: "light", About: "dark colors, for a light background (256 colors)", Faint: "38;5;242",
			Codes: Codes{
				Red: "38;5;124", Green: "38;5;28", Yellow: "38;5;94", Blue: "38;5;25", Magenta: "38;5;90",
				Cyan: "38;5;24",
			},
		},
		{
			Name: "dark", About: "light colors, for a dark background (256 colors)", Faint: "38;5;246",
			Codes: Codes{
				Red: "38;5;210", Green: "38;5;114", Yellow: "38;5;221", Blue: "38;5;111", Magenta: "38;5;176",
				Cyan: "38;5;80",
			},
		},
		{Name: "none", About: "no colors; bold and faint text remain"},
	}
}

// With returns the palette with a theme, if there is one of the name.
func (p Palette) With(theme string) Palette {
	if t, ok := ThemeNamed(theme); ok {
		p.Theme = t
	}
	return p
}

// ThemeNamed returns the theme with the name, and whether there is one.
func ThemeNamed(name string) (Theme, bool) {
	for _, t := range Themes() {
		if t.Name == name {
			return t, true
		}
	}
	return Theme{}, false
}
