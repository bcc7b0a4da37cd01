// Package sessions shows, exports, checks and deletes the sessions of a data
// directory. It reads their logs beside whoever writes them; only Delete takes
// a session's lock. What a model or a tool has said is made harmless before it
// gets to a terminal.
package sessions
