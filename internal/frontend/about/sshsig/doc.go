// Package sshsig verifies signatures in OpenSSH's format, which "ssh-keygen -Y sign" makes and
// "ssh-keygen -Y verify" checks (PROTOCOL.sshsig in OpenSSH's source).
//
//	allowed signers ─► ParseSigners ─┐
//	message, armored signature ──────┴► Verify ─► the signer, or why there is none
//
// The package accepts Ed25519 keys, in files and on security keys, and no other kind.
// It never signs. A test compares it with the real ssh-keygen. Read signature.go first.
package sshsig
