// Package skills finds skills: folders with a SKILL.md, in the open format of
// https://agentskills.io.
//
//	.settle/skills .agents/skills .claude/skills .codex/skills   of the project, the nearest folder first
//	~/.config/settle/skills ~/.agents/skills ~/.claude/skills ~/.codex/skills   of the user
//	        │
//	        ▼
//	  Find ─► Found: skills by name, what is hidden by another of its name, what cannot be used
//	        │
//	        ├─► Catalog: names and descriptions, bounded, for the system prompt
//	        └─► Skill.Load: the body, read when it is needed
//
// A project's skills are words of the repository, as its AGENTS.md is: they are read
// only where its owner is trusted, and links out of it are not followed. A file that
// is wrong is reported; the others work.
//
// A Markdown file's front matter is read in frontmatter.go. A YAML library reads each key
// with its value alone. Such files are written by hand, for agents that read them line by
// line: an entry that is not valid YAML is taken as the text, the list or the keys that it
// looks like (parse.go). Aliases are not expanded, and front matter has at most 64 KiB.
package skills
