package shell

import "github.com/settle-agent/settle/internal/proc"

// Sweep ends running processes of commands with the marker, whose program was killed
// together with its supervisors, and returns their ids. It keeps jobs with the marks in
// released. No other process can end the survivors.
func Sweep(marker string, released []string) []int {
	swept, _ := proc.Sweep(marker, released...)
	return swept
}
