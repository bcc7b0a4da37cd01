// Package jobs is the user's way to the processes that sessions left running:
// list them, show what they put out, end them.
package jobs
