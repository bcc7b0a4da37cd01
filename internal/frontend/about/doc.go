// Package about says how things stand without running anything: which
// settings are in force and where they come from, and whether this machine has
// what settle needs.
package about
