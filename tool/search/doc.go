// Package search has the tools that find files and text: glob, grep and list. They change
// nothing, omit files that .gitignore excludes (and .git), and return bounded output with
// instructions to narrow the search.
//
//	walk ──► glob    names by pattern, newest first
//	     ├─► list    a tree, level by level
//	     └─► scan ─► collector ─► grep    lines by regular expression
//	  ripgrep ─┘ names
//
// grep uses ripgrep if it is installed. ripgrep names the files that can have a match, and
// scan searches them like all others: output that ripgrep reads itself is not shown. A walk
// uses descriptors and follows no link (package internal/disk).
//
// Read search.go first; ignore.go and wildmatch.go implement .gitignore. Package policy
// decides whether a call runs and which files are secret.
package search
