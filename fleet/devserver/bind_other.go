//go:build !unix

package devserver

import (
	"os/exec"
	"syscall"
)

func bindToThread(*exec.Cmd, syscall.Signal) (release func()) { return func() {} }
