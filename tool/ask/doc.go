// Package ask lets a model ask the user: one to four questions with choices, free text and
// defaults. The call starts, and waits as a form of its session ([tool.Call].Ask): the
// frontends that show forms of MCP servers show it, and it ends once (C16). reply.go has the answers
// for people.
package ask
