// Package markdown makes rows of Markdown that arrives piece by piece. split.go makes
// blocks, render.go rows.
//
//	text ─► Splitter ─► Blocks ─► Renderer ─► rows
//	            └► Open: the block that still grows
//
// A Block is a part of the text that no later text changes, so that its rows can be
// committed to a terminal early: whole paragraphs, lists and tables, and code line by line.
// The blocks of a text do not depend on how its pieces were cut.
//
// Foreign text stays text. A link shows its target, HTML is shown as written, and package
// terminal neutralises control characters.
//
// Other files:
//
//   - language.go: keywords and comments of languages
//   - highlight.go: colors of code
//   - table.go: columns of tables
package markdown
