//go:build machine

package proof

// everyWire says that each turn of the catalogue is tried on each wire.
const everyWire = true
