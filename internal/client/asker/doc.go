// Package asker has what faces share that ask a person about a call.
package asker
