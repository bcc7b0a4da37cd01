package mcp

// Left acts as if a client ended its session over HTTP.
func (f *Frontend) Left(session string) { f.leave(session) }
