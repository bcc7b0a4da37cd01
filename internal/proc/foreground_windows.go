package proc

import "os"

// hangup is what ends a program: there is no way to ask.
func hangup() os.Signal { return os.Kill }
