// Package jobs lists, shows and ends the processes that sessions left running. Package
// store finds them.
package jobs
