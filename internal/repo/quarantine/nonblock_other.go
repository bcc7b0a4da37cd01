//go:build !unix

package quarantine

// nonblock is not needed here.
const nonblock = 0
