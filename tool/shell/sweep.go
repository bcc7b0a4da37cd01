package shell

import "github.com/settle-agent/settle/internal/proc"

// Sweep ends what runs of the commands that were started with the marker by a
// program that was killed together with its wardens, and returns the process
// ids. Jobs with the marks in released are left alone. What it could not end,
// nobody can.
func Sweep(marker string, released []string) []int {
	swept, _ := proc.Sweep(marker, released...)
	return swept
}
