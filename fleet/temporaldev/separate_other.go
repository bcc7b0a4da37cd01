//go:build !unix

package temporaldev

import "os/exec"

func separate(*exec.Cmd) {}
