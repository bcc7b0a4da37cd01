// Package clienttest has a client of a face for its tests: a [Place] where
// sessions work and are kept, whose logs are held against the contract in the end,
// and a [Peer] at the face's standard streams, which records what the face says.
package clienttest
