// Package fleettest is what the tests of the fleet share: a model that needs no
// memory ([Model]), a record of the calls that ran ([Record]), a place to work
// ([New]), and the tests that every engine has to pass ([RunEngine]).
//
// Files:
//
//   - engine.go: tests that every engine passes
//   - model.go: a model that orders calls
//   - place.go: a database with a fleet's tables
//   - record.go: a tool that counts its runs
package fleettest
