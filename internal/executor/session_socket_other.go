//go:build !unix

package executor

import (
	"errors"
	"net"
	"os"
)

// sessionSocket does not exist on this system.
type sessionSocket struct{}

var errNoPlace = errors.New("an executor cannot be found again on this system")

func newSessionSocket(string, string) (*sessionSocket, error) { return nil, errNoPlace }
func (*sessionSocket) lock() (*os.File, error)                { return nil, errNoPlace }
func (*sessionSocket) dial() (net.Conn, error)                { return nil, errNoPlace }
func (*sessionSocket) listen() (net.Listener, error)          { return nil, errNoPlace }
func (*sessionSocket) leave(*os.File)                         {}

// IsPrivate reports whether only this user can open a directory, which is unknown here.
func IsPrivate(string) bool { return false }

func sweepMarked(string) {}
