// Package markdown makes rows of Markdown that comes piece by piece.
//
//	text ─► Splitter ─► Blocks ─► Renderer ─► rows
//	            └► Open: the block that still grows
//
// A Block is a part of the text that nothing after it changes, so that its rows
// can be committed to a terminal while the rest is still to come: paragraphs,
// lists and tables as wholes, code line by line. How the pieces were cut makes no
// difference: the blocks of a text are always the same.
//
// Foreign text stays text. A link shows where it leads, HTML is shown as it is
// written, and what a terminal might obey is neutralised by package terminal.
package markdown
