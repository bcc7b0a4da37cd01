// Package escape attacks the sandbox: its test starts itself as an attacker in
// every kind of box, as root and as an ordinary user, with and without
// namespaces and in a container's chroot, and has it try every way out that is
// listed in attempts.
//
//	test ─► driver (user, chroot, namespaces) ─► box ─► attacker: attempts
//
// What a canary says is enforced must hold against all of them (C22).
package escape
