// Package prompt writes the system prompt of a session, once, when it begins:
//
//	own words        who settle is, how to work, how calls end   | or the user's file
//	environment      platform, directory, git, day               |
//	project          AGENTS.md (else CLAUDE.md), from the repository's root down
//	skills           names and descriptions, if there are any
//	addition         the user's, last
//
// The same directory on the same day gives the same text, so that prompt
// caches stay warm. A repository's files are somebody else's: they are bounded,
// made valid UTF-8, and read only from within the repository and where its owner
// is trusted. No program is run, git neither.
package prompt
