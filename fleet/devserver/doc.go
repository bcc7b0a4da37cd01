// Package devserver runs the servers of settle-fleet dev and of tests, which packages
// pgdev and temporaldev start: each is a process that ends with this one, also when this
// one is killed.
//
//	Start ─► running ─► Stop | it ends | this process dies
//
// child.go is the file to read first; bind_linux.go has what the kernel does.
package devserver
