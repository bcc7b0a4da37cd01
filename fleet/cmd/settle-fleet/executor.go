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

// shownTask is a task as people read and write it. The database keeps the command of the
// executor under its earlier name, "hands", which other versions read.
type shownTask struct {
	fleet.Task
	Executor string `json:"executor,omitempty"`
}

// decodeTask decodes a task into t, whose fields are the defaults. Either name of the
// executor's command is accepted.
func decodeTask(line []byte, t *fleet.Task) error {
	shown, command := shownTask{Task: *t}, t.Executor
	shown.Task.Executor = ""
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&shown); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the task; each task has a line of its own")
	}
	switch former := shown.Task.Executor; {
	case former != "" && shown.Executor != "":
		return errors.New(`the task has "executor" and its earlier name "hands"; leave out "hands"`)
	case former != "":
		command = former
	case shown.Executor != "":
		command = shown.Executor
	}
	*t = shown.Task
	t.Executor = command
	return nil
}

// shownStatus is the state of a task as people read it.
type shownStatus struct {
	fleet.TaskStatus
	Task shownTask `json:"task"`
}

func shown(s fleet.TaskStatus) shownStatus {
	task := shownTask{Task: s.Task, Executor: s.Task.Executor}
	task.Task.Executor = ""
	return shownStatus{s, task}
}
