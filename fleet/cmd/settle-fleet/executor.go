package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/settle-agent/settle/fleet"
)

const (
	executorFlag = "executor"
	// formerFlag is the earlier name of executorFlag, and of isolationExecutor.
	formerFlag = "hands"
)

// defineExecutor defines --executor, and its earlier name, which is hidden.
func defineExecutor(flags *pflag.FlagSet, command *string, usage string) {
	flags.StringVar(command, executorFlag, "", usage)
	flags.StringVar(command, formerFlag, "", usage)
	flags.Lookup(formerFlag).Hidden = true
}

// noteFormerFlag prints the new name of the executor's flag if its earlier name was used.
func noteFormerFlag(flags *pflag.FlagSet, stderr io.Writer) {
	if flags.Changed(formerFlag) {
		fmt.Fprintf(stderr, "settle-fleet: --%s is called --%s now\n", formerFlag, executorFlag)
	}
}

// taskView is the JSON form of a task for people. The database keeps the command of the
// executor under its earlier name, "hands", which other versions read.
type taskView struct {
	fleet.Task
	Executor string `json:"executor,omitempty"`
}

// decodeTask decodes a task into t, whose fields are the defaults. Either name of the
// executor's command is accepted.
func decodeTask(line []byte, t *fleet.Task) error {
	view, command := taskView{Task: *t}, t.Executor
	view.Task.Executor = ""
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&view); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the task; each task has a line of its own")
	}
	switch formerName := view.Task.Executor; {
	case formerName != "" && view.Executor != "":
		return errors.New(`the task has "executor" and its earlier name "hands"; leave out "hands"`)
	case formerName != "":
		command = formerName
	case view.Executor != "":
		command = view.Executor
	}
	*t = view.Task
	t.Executor = command
	return nil
}

// statusView is the JSON form of a task's state for people.
type statusView struct {
	fleet.TaskStatus
	Task taskView `json:"task"`
}

// showStatus returns the state of a task as people read it.
func showStatus(s fleet.TaskStatus) statusView {
	task := taskView{Task: s.Task, Executor: s.Task.Executor}
	task.Task.Executor = ""
	return statusView{s, task}
}
