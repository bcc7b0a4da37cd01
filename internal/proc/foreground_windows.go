package proc

import "os"

// hangup kills the program: Windows cannot ask it to end.
func hangup() os.Signal { return os.Kill }
