package proc

// Detached reports false: Windows does not tell.
func Detached() bool { return false }
