package main

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/terminal"
)

// maxSessions is the number of sessions that a shell offers, the newest first.
const maxSessions = 30

// complete registers completions for the flags and arguments of all commands, for a shell that
// asks. They come from a flag's usage: the name of its value, and the words after its last colon.
func complete(cmd *cobra.Command, s *streams) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, exists := cmd.GetFlagCompletionFunc(f.Name); !exists {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, valuesOf(f, s)) // fails only if one exists
		}
	})
	for _, word := range strings.Fields(cmd.Use) {
		if word = strings.Trim(word, "[]…"); word == "ID" && !strings.HasPrefix(cmd.CommandPath(), "settle jobs") ||
			word == "SESSION" {
			cmd.ValidArgsFunction = s.sessionIDs
		}
	}
	for _, sub := range cmd.Commands() {
		complete(sub, s)
	}
}

// valuesOf returns the completion of a flag's value.
func valuesOf(f *pflag.Flag, s *streams) cobra.CompletionFunc {
	name, usage := pflag.UnquoteUsage(f)
	switch {
	case f.Name == "model":
		return cobra.FixedCompletions(
			assemble.KnownModels(), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder,
		)
	case f.Name == "session" || f.Name == "resume":
		return s.sessionIDs
	case name == "FILE":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case name == "DIR":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	}
	return cobra.FixedCompletions(choices(usage), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
}

// list matches the choices in a flag's usage: off, auto (where the system can), on.
var list = sync.OnceValue(func() *regexp.Regexp {
	const one = `[a-zA-Z][a-zA-Z-]*(?: \([^)]*\))?`
	return regexp.MustCompile(`: (` + one + `(?:(?:, | or )` + one + `)+)$`)
})

var aside = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` \([^)]*\)`) })

// choices returns the values that the usage of a flag lists.
func choices(usage string) []string {
	found := list().FindStringSubmatch(usage)
	if found == nil {
		return nil
	}
	words := aside().ReplaceAllString(found[1], "")
	return strings.Split(strings.ReplaceAll(words, " or ", ", "), ", ")
}

// sessionIDs completes the ids of sessions, with their titles.
func (s *streams) sessionIDs(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const how = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	dir, err := directory(".")
	if err != nil {
		return nil, how
	}
	r, err := s.settings(dir, given(cmd.Flags()), config.IgnoreProject)
	if err != nil {
		return nil, how
	}
	list, err := store.Titled(ctx, r.DataDir, catalogue.Query{Limit: maxSessions})
	if err != nil {
		return nil, how
	}
	ids := make([]cobra.Completion, len(list))
	for n, e := range list {
		ids[n] = cobra.CompletionWithDesc(e.Session, terminal.Short(e.Title, 60))
	}
	return ids, how
}
