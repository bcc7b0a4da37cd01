// Package search is the tools that find files and text: glob, grep and list.
// They change nothing, leave out what .gitignore leaves out (and .git), and
// give bounded output that says how to narrow the search.
//
//	walk ──► glob    names by pattern, newest first
//	     ├─► list    a tree, level by level
//	     └─► scan ─► collector ─► grep    lines by regular expression
//	  ripgrep ─┘ names
//
// grep starts ripgrep where there is one. ripgrep names the files that may have a match,
// and these are searched like all others: what it reads itself is not shown. A walk goes
// through descriptors and follows no link (package internal/disk).
package search
