package tui

// input is the editor and its helpers.
type input struct {
	editor  editor
	vi      vi
	history *history
	search  *search // in history; nil if no search is open

	completion *completion // nil if none is offered
	// dismissedAt is one more than the place of a word that the person does not want
	// completed; 0 for none.
	dismissedAt int
	files       fileList
}

// overlay takes all keys and covers the editor or the screen; at most one is open.
type overlay struct {
	menu  *menu
	pager *pager
}
