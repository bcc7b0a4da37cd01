// Package permit says what may run: it judges a tool call by rules, by what
// was approved for the session, and by what the call would do.
package permit
