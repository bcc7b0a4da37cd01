// Package clienttest helps to test frontends. A [Place] is a directory with sessions, whose
// logs are checked against the contract at the end of the test. A [Peer] is a client at the
// standard streams of a frontend, which records the frontend's output.
package clienttest
