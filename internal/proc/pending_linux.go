package proc

import "golang.org/x/sys/unix"

// pendingRequest is FIONREAD, which Linux calls TIOCINQ; pipes know it too.
const pendingRequest = unix.TIOCINQ
