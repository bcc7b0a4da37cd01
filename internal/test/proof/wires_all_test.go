//go:build machine

package proof

// everyWire reports that each turn of the catalogue is tried on each wire.
const everyWire = true
