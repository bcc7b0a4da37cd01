// Package search has the tools that find files and text: glob, grep and list. They change
// nothing, omit files that .gitignore excludes (and .git), and return bounded output with
// instructions to narrow the search.
//
//	walk ──► glob    names by pattern, newest first
//	     ├─► list    a tree, level by level
//	     └─► scan ─► collector ─► grep    lines by regular expression
//
// The package starts no program. ripgrep would open files and ignore files by their names,
// which a command can change at any time; a walk uses descriptors and follows no link (package
// internal/disk).
//
// Read search.go first. Package internal/disk/ignore implements .gitignore. Package policy
// decides whether a call runs and which files are secret.
//
// Other files:
//
//   - grep.go: the tool grep
//   - glob.go: the tool glob, its patterns
//   - list.go: the tool list
//   - names.go: files for completion
//   - walk.go: order and ignored files of a walk
//   - scan.go: searches files line by line
//   - collector.go: limits of results
package search
