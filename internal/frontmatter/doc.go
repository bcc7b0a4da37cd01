// Package frontmatter takes the head off a Markdown file: YAML between two lines of
// three dashes, as skills and commands have it.
//
//	---
//	description: Review a change
//	---
//	Review $ARGUMENTS.   ◄─ the body
//
// It reads the part of YAML that heads are written in: texts, quoted, folded and
// literal, lists, and keys of one level. The files are written for several agents, by
// hand: a value that YAML would not take, since it has a colon or brackets in it, is
// taken as the text that it is.
// Text that comes from anybody never makes it panic.
package frontmatter
