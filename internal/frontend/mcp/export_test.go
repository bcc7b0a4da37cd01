package mcp

// Left is what happens when a client ends its session over HTTP.
func (f *Frontend) Left(session string) { f.leave(session) }
