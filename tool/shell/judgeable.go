package shell

import "runtime"

// Judgeable reports whether it can be told before a command runs what its
// shell makes of it, and which programs that finds. On Windows even bash has a
// PATH of its own.
func Judgeable() bool { return runtime.GOOS != "windows" }
