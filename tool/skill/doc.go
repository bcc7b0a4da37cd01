// Package skill is the tool with which a model loads a skill: instructions for one kind of
// work, of which the model otherwise knows only a name and a description.
//
//	catalogue in the prompt ─► skill(name) ─► the body of SKILL.md, the paths of its files
//
// Each call reads the current file. The call's Detail names the loaded skill, for the
// digest of a compaction.
package skill
