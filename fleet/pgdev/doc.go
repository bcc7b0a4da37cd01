// Package pgdev starts a private Postgres from the machine's packages, for
// trying the fleet out and for tests: in a private directory, reachable only by a
// socket in it and with a password, and ended with the program, also when that is killed.
//
//	Start ─► initdb, password (the first time) ─► postgres ─► ready ─► URL ─► Stop | this process dies
//
// Every connection needs the random password (scram-sha-256), which only the file password
// holds (mode 0600). start.go is the file to read first; password.go has the password.
//
// Postgres refuses to run as root; started by root, it runs as the user postgres,
// or as nobody.
//
// Other files:
//
//   - user_linux.go: the user that the server runs as
package pgdev
