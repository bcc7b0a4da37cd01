// Package skills finds skills: folders with a SKILL.md, in the open format of
// https://agentskills.io.
//
//	.settle/skills .agents/skills .claude/skills .codex/skills   of the project, the nearest folder first
//	~/.config/settle/skills ~/.agents/skills ~/.claude/skills ~/.codex/skills   of the user
//	        │
//	        ▼
//	  Find ─► Found: skills by name, hidden skills of the same name, unusable files
//	        │
//	        ├─► Catalog: names and descriptions, bounded, for the system prompt
//	        └─► Skill.Load: the body, read when a call needs it
//
// A project's skills are untrusted text, like its AGENTS.md: they are read only if the
// repository's owner is trusted, and links out of the project are not followed. One wrong
// file is reported and affects no other.
//
// Read find.go first, then skill.go. frontmatter.go reads the front matter of a Markdown
// file: a YAML library reads each key with its value alone. People write these files for
// agents that read them line by line, so parse.go interprets an entry that is not valid
// YAML as the text, list or map that it looks like. Aliases are not expanded, and front
// matter has at most 64 KiB.
//
// Other files:
//
//   - sources.go: the folders that are read
//   - agent.go: definitions of kinds of child agents
//   - catalog.go: the list of skills in the prompt, bounded
//   - fill.go: arguments of commands
package skills
