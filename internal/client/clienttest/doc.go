// Package clienttest helps to test frontends. A [Place] is a directory with sessions, whose
// logs are checked against the contract at the end of the test. A [Peer] is a client at the
// standard streams of a frontend, which records the frontend's output.
//
// Files:
//
//   - changes.go: compares a transcript with its log
//   - commands.go: a skill and a command for tests
//   - inquirer.go: an MCP server that asks the user
//   - peer.go: a client that speaks JSON-RPC with a frontend
//   - place.go: a data directory, a home and a working directory
//   - recorder.go: the lines that a frontend writes
package clienttest
