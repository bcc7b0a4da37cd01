// Package safefile reads files that somebody else may have put there: a path
// may lead to a pipe that nobody writes to, a device, a directory, or a file
// far too large. It writes files that are whole whenever somebody reads them.
package safefile
