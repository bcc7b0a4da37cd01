// Package search is the tools that find files and text: glob, grep and list.
// They change nothing, leave out what .gitignore leaves out (and .git), and
// give bounded output that says how to narrow the search.
//
//	walk ──► glob    names by pattern, newest first
//	     ├─► list    a tree, level by level
//	     └─► scan ─┐
//	  ripgrep ─────┴─► collector ─► grep    lines by regular expression
//
// grep starts ripgrep where there is one, and reads the files itself where
// not or where that fails; the collector gives both the same form and bounds.
package search
