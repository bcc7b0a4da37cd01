// Package sse reads a stream of server-sent events, as the HTML standard
// defines it (https://html.spec.whatwg.org/multipage/server-sent-events.html).
//
// It keeps to the standard: lines end with CR, LF or CRLF, a byte order mark
// is skipped, several data lines are joined by a line feed, an event without
// data is not an event, and what follows the last blank line is dropped.
// Comments are reported too: they are how servers say that they are alive.
//
// A [Reader] has one buffer, which it hands out parts of; it grows to the
// longest event and never beyond a limit, so that a line without an end costs
// bounded memory.
package sse
