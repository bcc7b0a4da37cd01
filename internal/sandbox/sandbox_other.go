//go:build !linux && !darwin

package sandbox

import "errors"

var errNone = errors.New("there is no sandbox on this platform")

// Check returns what is missing here.
func Check() error { return errNone }

// Layers names what enforces a policy here.
func Layers() []string { return nil }

// Enter confines nothing and says so.
func Enter(Policy) (door int, err error) { return -1, errNone }

// ViewLayer names what gives a command a view of its own, beside Layers; "" is
// nothing more.
const ViewLayer = ""

// KnowsAddresses says that a proxied command reaches its proxy alone also without a
// network of its own.
const KnowsAddresses = false

// Unproved says what has not been tried of all this; "" is nothing.
const UntestedNote = ""
