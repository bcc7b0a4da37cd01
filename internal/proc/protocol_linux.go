package proc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/sandbox"
)

// Host and supervisor exchange JSON, a message a line, over a socket that each sees close when
// the other dies.

// order is a message of the host. Exactly one field is set.
type order struct {
	Start   *startOrder   `json:"start,omitempty"`
	End     *endOrder     `json:"end,omitempty"`
	Release *releaseOrder `json:"release,omitempty"`
	Pause   *pauseOrder   `json:"pause,omitempty"`
	// Confirm starts a command that is confined.
	Confirm *struct{} `json:"confirm,omitempty"`
	// Interrupt asks for an interrupt of the command's process group.
	Interrupt *struct{} `json:"interrupt,omitempty"`
}

// startOrder is the first message. The standard files of the command and the lock are the
// descriptors after the socket.
type startOrder struct {
	Path     string   `json:"path"`
	Argv     []string `json:"argv"`
	Dir      string   `json:"dir,omitempty"`
	RealDir  bool     `json:"real_dir,omitempty"` // as in [Spec]
	Env      []string `json:"env"`
	Terminal bool     `json:"terminal,omitempty"`
	KeepRest bool     `json:"keep_rest,omitempty"`
	GraceMS  int64    `json:"grace_ms"`
	// Awake asks the supervisor to wake a stopped host.
	Awake bool `json:"awake,omitempty"`
	// Confirm has the supervisor report that the command is confined, and start it only
	// when the host confirms.
	Confirm bool `json:"confirm,omitempty"`
	// Sandbox confines the command; nil does not.
	Sandbox *sandbox.Policy `json:"box,omitempty"`
}

// MarshalJSON and UnmarshalJSON keep names that are not UTF-8, which JSON has no form for.
func (o startOrder) MarshalJSON() ([]byte, error) {
	return json.Marshal(plainOrder(o.mapped(escapeName)))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *startOrder) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*plainOrder)(o)); err != nil {
		return err
	}
	*o = o.mapped(unescapeName)
	return nil
}

type plainOrder startOrder

// mapped returns the order with another form of all names.
func (o startOrder) mapped(form func(string) string) startOrder {
	each := func(list []string) []string {
		list = slices.Clone(list)
		for i := range list {
			list[i] = form(list[i])
		}
		return list
	}
	o.Path, o.Dir, o.Argv, o.Env = form(o.Path), form(o.Dir), each(o.Argv), each(o.Env)
	if o.Sandbox != nil {
		policy := *o.Sandbox
		policy.Read, policy.Write = each(policy.Read), each(policy.Write)
		policy.Protect, policy.Pinned = each(policy.Protect), each(policy.Pinned)
		policy.Hide = slices.Clone(policy.Hide)
		for i := range policy.Hide {
			policy.Hide[i].Path = form(policy.Hide[i].Path)
		}
		o.Sandbox = &policy
	}
	return o
}

// foreignByte is the first of 256 characters for private use, which stand for the bytes of a
// name that is not UTF-8, or that has such a character itself.
const foreignByte = 0x10FE00

func isForeign(r rune) bool { return r >= foreignByte && r < foreignByte+256 }

func escapeName(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, isForeign) {
		return name
	}
	runes := make([]rune, len(name))
	for i := range len(name) {
		runes[i] = foreignByte + rune(name[i])
	}
	return string(runes)
}

func unescapeName(name string) string {
	if !strings.ContainsFunc(name, isForeign) {
		return name
	}
	var bytes []byte
	for _, r := range name {
		bytes = append(bytes, byte(r-foreignByte))
	}
	return string(bytes)
}

// pauseOrder reports whether the host stops on purpose from now on.
type pauseOrder struct {
	Paused bool `json:"paused"`
}

type endOrder struct {
	GraceMS int64 `json:"grace_ms"`
}

// releaseOrder comes with the descriptor of the command's output.
type releaseOrder struct {
	Log Log `json:"log"`
}

// report is a message of the supervisor. Exactly one field is set.
type report struct {
	Started   *startedReport `json:"started,omitempty"`
	Confined  *struct{}      `json:"confined,omitempty"`
	Failed    *failedReport  `json:"failed,omitempty"`
	Exited    *exitedReport  `json:"exited,omitempty"`
	Released  *struct{}      `json:"released,omitempty"`
	TreeEnded *goneReport    `json:"gone,omitempty"`
	Woke      *struct{}      `json:"woke,omitempty"`
}

type startedReport struct {
	PID int `json:"pid"`
}

// failedReport reports that nothing was started, or that nothing was released.
type failedReport struct {
	Message string `json:"message"`
	// Changed is the path of [sandbox.ChangedError], if it was one.
	Changed string `json:"changed,omitempty"`
}

type exitedReport struct {
	Code   int             `json:"code"`
	Signal int             `json:"signal,omitempty"`
	Rest   []event.Process `json:"rest,omitempty"`
}

// goneReport is the last message of a supervisor.
type goneReport struct {
	Survivors []event.Process `json:"survivors,omitempty"`
	// EndRequested reports that a process other than the host requested the end.
	EndRequested bool `json:"asked,omitempty"`
}

const (
	supervisorName = "settle-supervisor" // argv[0] of a supervisor, as ps shows it

	supervisorSocket = 3 // descriptors of a supervisor
	supervisorStdin  = 4
	supervisorStdout = 5
	supervisorStderr = 6
	supervisorLock   = 7 // open if the session has one

	// maxMessage bounds a message in bytes. Linux allows 2 MiB for arguments and environment
	// together, which are longer in JSON.
	maxMessage = 16 << 20
)

func encodeMessage(message any) ([]byte, error) {
	line, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// lines splits the data of a socket into messages.
type lines struct {
	pending []byte
	// receive reads once; it returns 0 and io.EOF at the end.
	receive func(buf []byte) (int, error)
}

func (l *lines) next(message any) error {
	buf := make([]byte, 4<<10)
	for {
		if i := bytes.IndexByte(l.pending, '\n'); i >= 0 {
			line := l.pending[:i]
			l.pending = l.pending[i+1:]
			if err := json.Unmarshal(line, message); err != nil {
				return fmt.Errorf("cannot decode a message: %w", err)
			}
			return nil
		}
		if len(l.pending) > maxMessage {
			return errors.New("cannot read a message: it is too long")
		}
		n, err := l.receive(buf)
		if err != nil {
			return err
		}
		l.pending = append(l.pending, buf[:n]...)
	}
}

// receiver reads a blocking socket and collects the descriptors that accompany the data.
type receiver struct {
	fd      int
	foreign []int
}

func (r *receiver) receive(buf []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4*4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(r.fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		r.collect(oob[:oobn])
		return n, nil
	}
}

func (r *receiver) collect(oob []byte) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			r.foreign = append(r.foreign, fds...)
		}
	}
}
