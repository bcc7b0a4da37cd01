// Package commands reads the commands that a user keeps as Markdown files: a prompt
// under a name, with places for arguments.
//
//	commands/review.md ─► Command ─► Expand("the parser") ─► a prompt
//
// A file may begin with two lines of three dashes; between them stand its description and
// argument-hint. They belong to the user: a repository's own are not read.
package commands
