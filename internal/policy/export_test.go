package policy

// WordsOf returns the words of the only command of a text, nil if they are
// not known.
func WordsOf(dir, text string) []string {
	g, err := newGround(dir)
	if err != nil {
		return nil
	}
	s := &script{home: "/home/somebody", ground: g, dirs: []string{dir}}
	s.read(text)
	if len(s.deeds) != 1 || s.deeds[0].kind != runs {
		return nil
	}
	for _, w := range s.deeds[0].words {
		if !w.definite() {
			return nil
		}
	}
	return texts(s.deeds[0].words)
}
