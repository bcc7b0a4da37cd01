// Package clients drives the built binary with programs that we did not write: SDKs, editors'
// adapters and test suites from npm, each pinned by the lock file beside it. Its tests need npm and
// are built with the tag "clients"; make clients runs them. docs/clients/README.md has their
// findings.
//
// Each test starts a modeltest.Server, points a client at settle, has it do
// what its users do, and looks at what is left: processes, sessions, endings.
package clients
