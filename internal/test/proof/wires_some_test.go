//go:build !machine

package proof

// everyWire reports that each turn of the catalogue is tried on each wire. Else it is
// one of them, not the same for each turn.
const everyWire = false
