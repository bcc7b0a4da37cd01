//go:build unix && !linux

package proc

// pendingRequest is FIONREAD of sys/filio.h, the same on every BSD.
const pendingRequest = 0x4004667f
