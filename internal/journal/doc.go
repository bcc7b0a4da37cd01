// Package journal keeps the log of a session: durable, in order, and the only state there
// is. It owns the file, its lock, and the order of events. Read log.go first:
//
//	Update(f) ─► f reads the state ─► stamp, fold ─► queue ─► Store.Append ─► feed ─► subscribers
//	             (under the lock)                             (one writer)    C4: written first
//
// A [Log] is in one of these states:
//
//	sound ──► tight ──► volatile        the store has no space ──► the store fails
//	  └───────────────────▲             (EIO, a write that hangs)
//	tight, volatile ──► sound           Reopen; it first writes the missing events
//	any ──► closed                      Close; it first writes the queue
//
// A tight log writes into the space that was reserved for endings, and only the numbers of
// deltas. A volatile log writes nothing and marks its events. From tight on, every Update
// returns a [FailedError].
//
// writer.go appends and publishes, feed.go serves subscribers, filestore.go and record.go
// are the file and its format, reserve.go its reserved space, snapshot*.go and compact.go a
// shortcut for opening. [Open] cuts and saves the damage of a crash (survey.go, repair.go),
// and holds the session's lock until the log is closed and the last process that inherited
// the lock has ended (acquire.go, take.go, holder*.go; errors.go has the messages for people). How other processes ask a host for
// a session is in internal/hostsocket; what is logged is decided in internal/session.
//
// Other files:
//
//   - store.go: the interface of a store, and its durability
//   - file.go: operations on a session's file
//   - batch.go: the content of the next write, merged deltas
//   - memory.go: a store without a file
//   - reopen.go: retries after a failed write
//   - sessions.go: lists, moves, deletes and loads sessions
//   - snapshot.go: reads the snapshot of a log
//   - snapshot_write.go: when and how a snapshot is extended
//   - open.go: opens, repairs and locks a log
//   - holder.go: which process holds a lock
//   - dir_unix.go: makes names in a directory durable
//   - full_unix.go: whether an error means a full disk
//   - process_unix.go: asks a process to end, or forces it
//   - remove_unix.go: removes the file while it is locked
//   - stopped_other.go: whether the holder is stopped
//
// What a repair keeps of the bytes that it cuts is decided in repair.go; the reason for the cut
// comes from open.go.
package journal
