// Package fleettest is what the tests of the fleet share: a model that needs no
// memory ([Model]), a record of the calls that ran ([Record]), a place to work
// ([New]), and the tests that every engine has to pass ([RunEngine]).
package fleettest
