package mcp

// Left is what happens when a client ends its session over HTTP.
func (f *Face) Left(session string) { f.leave(session) }
