//go:build linux && !amd64 && !arm64

package sandbox

const (
	auditArch = 0
	x32       = 0
)

var deniedHere []uint32
