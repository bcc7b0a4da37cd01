//go:build !linux && !darwin

package sandbox

import "errors"

var errNone = errors.New("there is no sandbox on this platform")

// Check returns an error: this system has no sandbox.
func Check() error { return errNone }

// Layers names the mechanisms that enforce a policy.
func Layers() []string { return nil }

// Enter always fails.
func Enter(Policy) (proxyListener int, err error) { return -1, errNone }

// ViewLayer names the mechanism of a policy with View, in addition to Layers; "" for none.
const ViewLayer = ""

// KnowsAddresses reports whether a proxied command can reach only its proxy, even without a
// network of its own.
const KnowsAddresses = false

// UntestedNote describes the untested parts; "" for none.
const UntestedNote = ""
