// Package frontmatter separates the head of a Markdown file from its body. The head is
// YAML between two lines of three dashes, as skills and commands have it.
//
//	---
//	description: Review a change
//	---
//	Review $ARGUMENTS.   ◄─ the body
//
// A YAML library reads each key with its value alone. Files are written by hand, for
// several agents that read them line by line: where an entry is not valid YAML, for
// example because its text contains ": " or begins with "*", the entry is taken as the
// text, the list or the keys that it looks like (parse.go). Aliases are not expanded.
// No input makes this package panic, and a head has at most 64 KiB.
package frontmatter
