// Package archive shows the sessions of a fleet to people: it is what the server of the
// page asks in place of a host. It owns nothing. Sessions are the tasks of the queue,
// what they did is in their logs, and a turn is interrupted by cancelling its task.
package archive
