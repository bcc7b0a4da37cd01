package main

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// command is a command in the output of "settle help --json".
type command struct {
	Name     string    `json:"name"` // the full command: settle sessions list
	Usage    string    `json:"usage"`
	Short    string    `json:"short"`
	Long     string    `json:"long"`
	Example  string    `json:"example,omitempty"`
	Flags    []flag    `json:"flags,omitempty"`
	Commands []command `json:"commands,omitempty"`
}

type flag struct {
	Name      string   `json:"name"`
	Shorthand string   `json:"shorthand,omitempty"`
	Value     string   `json:"value,omitempty"` // the name of its value, such as FILE; empty if it takes no value
	Usage     string   `json:"usage"`
	Default   string   `json:"default,omitempty"`
	Choices   []string `json:"choices,omitempty"`
}

// describe returns a command with its subcommands, without hidden ones.
func describe(cmd *cobra.Command) command {
	cmd.InitDefaultHelpFlag()
	c := command{Name: cmd.CommandPath(), Usage: cmd.UseLine(), Short: cmd.Short, Long: cmd.Long, Example: cmd.Example}
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		d := flag{Name: f.Name, Shorthand: f.Shorthand, Value: value, Usage: usage, Choices: choices(usage)}
		if !slices.Contains([]string{"", "0", "false", "[]"}, f.DefValue) {
			d.Default = f.DefValue
		}
		c.Flags = append(c.Flags, d)
	})
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			c.Commands = append(c.Commands, describe(sub))
		}
	}
	return c
}

func printReference(to io.Writer, cmd *cobra.Command) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(describe(cmd))
}
