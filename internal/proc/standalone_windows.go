package proc

import (
	"errors"
	"net"
	"os"
)

// Standalone is a further process of this program that outlives this one. Windows has none:
// no client could attach to its sessions.
type Standalone struct {
	Args   []string // without the program's name
	Env    []string
	Stderr *os.File
}

// StandaloneProcess is never started.
type StandaloneProcess struct {
	In, Out *os.File
	Conn    net.Conn
}

var errNoStandalone = errors.New("no client could attach to a detached session on Windows; run it in a terminal")

// Start returns an error.
func (Standalone) Start() (*StandaloneProcess, error) { return nil, errNoStandalone }

// StartConnected returns an error.
func (Standalone) StartConnected() (*StandaloneProcess, error) { return nil, errNoStandalone }

// Terminate does nothing.
func (*StandaloneProcess) Terminate() {}

// Kill does nothing.
func (*StandaloneProcess) Kill() {}

// Wait returns an error.
func (*StandaloneProcess) Wait() error { return errNoStandalone }

// Release returns an error.
func (*StandaloneProcess) Release() error { return errNoStandalone }

// ShowName does nothing: the system shows the program's name.
func ShowName() {}
