// Package escape attacks the sandbox: its test starts itself as an attacker in
// every kind of sandbox: as root and as an ordinary user, with and without
// namespaces, and in a container's chroot. The attacker makes every attempt that
// attempts lists.
//
//	test ─► driver (user, chroot, namespaces) ─► sandbox ─► attacker: attempts
//
// A restriction that the sandbox probe confirms must withstand all attempts (C22).
package escape
