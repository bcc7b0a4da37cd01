// Package effects determines the effects of a shell script from its text alone. It reads no
// file and expands nothing.
//
//	text ─► a grammar that every shell reads the same (syntax.go)
//	     ─► simple commands, and the directory of each (script.go)
//	     ─► each command in the table, with known options (commands.txt)
//	     ─► effects: what it looks at, reads, starts
//
// For everything outside these lists, it returns a reason, and the caller asks a person.
// Run the oracle, which executes all allowed commands, before you widen a list (make
// judge): docs/adr/0008.
//
// Other files:
//
//   - effects.go: commands, words and kinds of effects
//   - check.go: the effects of one command
//   - arguments.go: words as options and operands
//   - table.go: reads commands.txt, the known commands
package effects
