package shell

import "runtime"

// Judgeable reports whether the policy can determine, before a command runs, how its shell
// reads it and which programs it finds. On Windows even bash has a PATH of its own.
func Judgeable() bool { return runtime.GOOS != "windows" }
