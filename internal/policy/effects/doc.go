// Package effects says what a shell script does, as far as that can be told
// from its text alone. It looks at no file and interprets nothing.
//
//	text ─► a grammar that every shell reads the same (syntax.go)
//	     ─► simple commands, and where each runs (script.go)
//	     ─► each command in the table, with options that it has (commands.txt)
//	     ─► effects: what it looks at, reads, starts
//
// Whatever is not on these lists has a reason why it is not understood, and
// the caller asks a person. Nothing here may be widened without a run of the
// oracle (make judge), which executes what is allowed: docs/adr/0008.
package effects
