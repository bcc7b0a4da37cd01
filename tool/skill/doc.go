// Package skill is the tool by which a model loads a skill: instructions for one
// kind of work, of which it knows no more than a name and a description until then.
//
//	catalogue in the prompt ─► skill(name) ─► the body of SKILL.md, where its files are
//
// The file is read when it is called for, so that it is as it is now. What was
// loaded is named in the call's Detail, for the ledger of a compaction.
package skill
