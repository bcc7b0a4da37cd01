package assemble

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/mcp"
)

// Options describe an agent: the configuration in force, and the choices of its frontend.
type Options struct {
	// Settings is the configuration in force.
	Settings *config.Resolved
	// Dir is the absolute working directory.
	Dir string
	// Environ is the environment of commands; Getenv reads the environment of settle.
	Environ []string
	Getenv  func(string) string
	// Version is the version of this program, for the log and for servers.
	Version string
	// Logger returns the diagnostic log, whose lines pass the redactor.
	Logger func(*redact.Redactor) *slog.Logger
	// Secrets are masked values in addition to the secrets of the settings.
	Secrets []string
	// Learn, if set, receives the secrets that appear while Probe connects to servers.
	Learn func(secrets ...string)

	HostOptions
	PermissionOptions
	PromptOptions
	ToolOptions
	ModelOptions

	below bool // the agent is a child agent, whose judge is not the Policy's own
}

// HostOptions describe the host of the sessions, and how long a session lives.
type HostOptions struct {
	// Frontend is the name of the frontend, for the log.
	Frontend string
	// Keeping decides whether the data directory keeps the sessions.
	Keeping Keeping
	// Take takes the session over from another process that holds it. Releasable lets
	// other processes take over a session of this host.
	Take, Releasable bool
	// Attach, if set, serves the attached clients of a session.
	Attach func(ctx context.Context, s *settle.Session, request json.RawMessage, conn net.Conn)
	// AtEnd decides what happens to background child agents at the end of a turn.
	AtEnd settle.AtEnd
	// SharedExecutor is set if other hosts can open the same sessions.
	SharedExecutor *SharedExecutor
}

// PermissionOptions decide which calls run, and who answers requests for approval.
type PermissionOptions struct {
	// Permission is the frontend's default policy; empty is Ask. Release is its default
	// for processes that the model releases from a session.
	Permission, Release settle.Permission
	// Ceiling is the permission that the user configured; a client's Policy cannot be
	// looser. Empty for none.
	Ceiling settle.Permission
	// Policy, if set, replaces Permission; a client can change its mode.
	Policy *Policy
	// Reviewed, if set, makes the final decision about each call.
	Reviewed func(settle.Approval, settle.Judgement) settle.Judgement
	// Approver answers requests for approval.
	Approver settle.Approver
	// Attended reports that clients of the frontend answer requests for approval.
	Attended bool
	// Unasked reports that settle never asks the user about a call of the session. Then the model is
	// offered no parameter that runs a command outside of the sandbox.
	Unasked bool
	// Sandbox is the frontend's default for sandbox.use: off, auto, required or
	// SandboxByMode; empty is off.
	Sandbox string
	// OutOfReach are files and folders that no working directory of sandboxed commands
	// can contain, in addition to the data directory and the home directory.
	OutOfReach []string
}

// PromptOptions has the sources of the system prompt and the instructions.
type PromptOptions struct {
	// SystemFile, if set, is a file whose text replaces settle's own prompt; the text of
	// AppendFile is added to the prompt.
	SystemFile, AppendFile string
	// System, if set, replaces settle's own prompt; Append is added to the prompt.
	System *string
	Append string
	// Project decides whether the project's own files are read.
	Project Project
	// Home decides whether the user's skills, commands and instructions are read;
	// Instructions decides it for the instructions alone.
	Home, Instructions Home
}

// ToolOptions decide which tools and MCP servers the model receives.
type ToolOptions struct {
	// Offers, if set, reports whether models receive a tool.
	Offers func(tool string) bool
	// Editor, if set, is the client's editor, with its unsaved files.
	Editor *file.Editor
	// Servers are MCP servers of the client; OnlyServers omits the configured servers.
	Servers     []mcp.Server
	OnlyServers bool
	// Seen, if set, receives each change of a server's state.
	Seen func(server string, state mcp.State, why error)
	// Listed, if set, receives the name of each server that listed its tools and prompts.
	Listed func(server string)
}

// ModelOptions choose the model, and the models of child agents.
type ModelOptions struct {
	// Model, if its Provider is set, replaces the model of the settings.
	Model model.Config
	// Resolve, if set, resolves the settings of a child agent with another model. Given
	// are the settings of this agent's client.
	Resolve func(dir string, given map[string]string) (*config.Resolved, error)
	Given   map[string]string
	// Shared, if set, bounds and connects the agents of one frontend together.
	Shared *Shared
}

// Keeping decides whether the data directory keeps the sessions.
type Keeping string

// The values; the zero value is Durable.
const (
	Durable   Keeping = ""
	Ephemeral Keeping = "ephemeral" // in memory only
)

// Project decides whether the project's own files are read.
type Project string

// The values; the zero value is ReadProject.
const (
	ReadProject   Project = ""
	IgnoreProject Project = "ignore" // --no-project-config
)

// Home decides whether the user's own skills, commands and instructions are read.
type Home string

// The values; the zero value is ReadHome.
const (
	ReadHome   Home = ""
	IgnoreHome Home = "ignore" // for programs that embed the agent
)
