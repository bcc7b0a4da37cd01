package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/settle-agent/settle/fleet"
)

// taskView is the JSON form of a task for people. The database has the command of the executor
// under another name, "hands".
type taskView struct {
	fleet.Task
	Executor string `json:"executor,omitempty"`
}

// decodeTask decodes a task into t, whose fields are the defaults.
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
	if view.Task.Executor != "" {
		return errors.New(`unknown field "hands"; the field of the command is "executor"`)
	}
	if view.Executor != "" {
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
