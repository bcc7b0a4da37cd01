// Package prompt writes the system prompt of a session once, when the session begins:
//
//	own words        who settle is, how to work, how calls end   | or the user's file
//	environment      platform, directory, git, day               |
//	project          AGENTS.md (else CLAUDE.md), from the repository's root down
//	skills           names and descriptions, if there are any
//	addition         the user's, last
//
// The same directory on the same day gives the same text, which keeps prompt caches valid.
// The files of a repository are untrusted: the package bounds them, makes them valid UTF-8,
// and reads them only within a repository whose owner is trusted. It runs no program, also
// not git.
//
// Read prompt.go first. project.go names and reads the files of instructions, imports.go follows @path imports, nested.go finds the instructions
// of folders that calls work in. Package assemble decides which files are read; package
// repo decides whose files are trusted.
//
// Other files:
//
//   - own.go: settle's own part
//   - rules.go: rules with paths, from .claude/rules
//   - environment.go: directory, date and branch
package prompt
