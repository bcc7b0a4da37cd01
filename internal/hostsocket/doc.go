// Package hostsocket is the control socket of a host: a Unix socket in the data directory
// at which other processes of the same user ask for one of the host's sessions. A process
// asks to release a session, which it wants to take over, or to join one as an attached
// client. A request and its answer are a line of JSON each; an attached client keeps the
// connection afterwards. Read server.go first, then dial.go.
//
//	Server:  closed ◄─► listening (Listen, StopListening) ──► ended (Close)
//	Dial ─► the sockets of one host, by their file names ─► handshake ─► connection
//
// The directory admits only the user, and the kernel reports the user at the other end of
// a connection (peer.go). A path that is too long for a socket is shortened in address.go.
// Who may take a log's lock is decided in internal/journal; what an attached client may do
// is decided in internal/client/attach.
package hostsocket
