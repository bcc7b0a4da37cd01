package proc

// Block is the memory that holds the arguments and the environment of this process as the kernel
// placed them; /proc/PID/cmdline and environ show it. Overwriting it hides the values there.
// Go's environment is a copy of this memory, os.Args is not.
type Block struct{ Args, Environ []byte }
