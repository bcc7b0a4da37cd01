// Package fleettest has what the tests of the fleet share: a model that needs no
// memory ([Model]), a record of the calls that ran ([Record]), and a place to work ([New]).
//
// Files:
//
//   - model.go: a model that orders calls
//   - place.go: a database with a fleet's tables
//   - record.go: a tool that counts its runs
package fleettest
