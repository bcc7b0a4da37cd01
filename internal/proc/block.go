package proc

// Block is the memory that holds this process's arguments and environment as
// the kernel laid them down, and shows them to others (/proc/PID/cmdline and
// environ). What is overwritten there is gone for them. The environment that Go
// shows is a copy; os.Args is none.
type Block struct{ Args, Environ []byte }
