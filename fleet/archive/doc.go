// Package archive shows the sessions of a fleet to people: the server of the page uses it
// in place of a host. It owns nothing. The queue has the tasks of the sessions, the logs
// have their events, and a turn is interrupted by cancelling its task.
package archive
