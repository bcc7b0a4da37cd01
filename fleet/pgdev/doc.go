// Package pgdev starts a Postgres of one's own from the machine's packages, for
// trying the fleet out and for tests: in a private directory, reachable only by a
// socket in it, and ended with the program, also when that is killed.
//
//	Start ─► initdb (the first time) ─► postgres ─► ready ─► URL ─► Stop | this process dies
//
// Postgres refuses to run as root; started by root, it runs as the user postgres,
// or as nobody.
package pgdev
