package executor

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version is the version of the protocol, which must be the same at both ends.
const Version = 2

// preface is the first line of each direction. Before it, the command that leads to the executor
// can print other text, such as a banner.
const preface = "settle-hands\n"

const (
	// maxFrame bounds a frame in bytes, and maxNoise the text before the preface.
	maxFrame = 8 << 20
	maxNoise = 64 << 10

	headBytes    = 4
	messageBytes = 8 + 8 + 1 + 8
)

// The kinds of frames.
const (
	frameHello   = 'H' // JSON: hello, then the machine
	frameAttach  = 'A' // JSON: attachRequest, then attachReply
	frameMessage = 'M' // number, acknowledged number, kind, id, data
	frameAlive   = 'K' // acknowledged number, and whether an answer is requested
	frameRefused = 'X' // text; the stream ends
)

// frame is a piece of the stream: four bytes of length, one of kind, the data.
type frame struct {
	kind byte
	data []byte
}

func appendFrame(out []byte, kind byte, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)+1))
	return append(append(out, kind), data...)
}

// frames reads frames from a stream.
type frames struct {
	r    *bufio.Reader
	head [headBytes + 1]byte
}

func newFrames(r io.Reader) *frames { return &frames{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next frame. It allocates memory as data arrives, not by the announced length.
func (f *frames) next() (frame, error) {
	if _, err := io.ReadFull(f.r, f.head[:]); err != nil {
		return frame{}, err
	}
	size := binary.BigEndian.Uint32(f.head[:headBytes])
	if size == 0 || size > maxFrame {
		return frame{}, fmt.Errorf("cannot read a frame of %d bytes", size)
	}
	rest := int64(size - 1)
	var buf bytes.Buffer
	buf.Grow(int(min(rest, 64<<10)))
	if n, err := io.CopyN(&buf, f.r, rest); err != nil {
		if errors.Is(err, io.EOF) && n < rest {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	return frame{kind: f.head[headBytes], data: buf.Bytes()}, nil
}

// errNoPreface reports that the other end is no executor.
var errNoPreface = errors.New("the program at the other end is no settle executor")

// skipTo reads until the preface, at the start of a line, and returns the text before it.
func (f *frames) skipTo() (noise string, err error) {
	var all []byte
	for len(all) <= maxNoise {
		line, err := f.r.ReadSlice('\n')
		if string(line) == preface {
			return string(all), nil
		}
		all = append(all, line...)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return string(all), err
		}
	}
	return string(all[:maxNoise]), errNoPreface
}

// message is sent exactly once, in order.
type message struct {
	kind byte
	id   uint64 // of its command or request
	data []byte
}

func appendMessage(out []byte, seq, ack uint64, m message) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(1+messageBytes+len(m.data)))
	out = append(out, frameMessage)
	out = binary.BigEndian.AppendUint64(out, seq)
	out = binary.BigEndian.AppendUint64(out, ack)
	out = append(out, m.kind)
	out = binary.BigEndian.AppendUint64(out, m.id)
	return append(out, m.data...)
}

func parseMessage(data []byte) (seq, ack uint64, m message, err error) {
	if len(data) < messageBytes {
		return 0, 0, m, fmt.Errorf("cannot read a message of %d bytes", len(data))
	}
	seq, ack = binary.BigEndian.Uint64(data), binary.BigEndian.Uint64(data[8:])
	return seq, ack, message{kind: data[16], id: binary.BigEndian.Uint64(data[17:]), data: data[messageBytes:]}, nil
}

// Whether a frameAlive requests an answer.
const (
	answerWanted = 1
	noAnswer     = 0
)

func appendAlive(out []byte, ack uint64, answer byte) []byte {
	var data [9]byte
	binary.BigEndian.PutUint64(data[:], ack)
	data[8] = answer
	return appendFrame(out, frameAlive, data[:])
}

func parseAlive(data []byte) (ack uint64, answer bool, err error) {
	if len(data) != 9 {
		return 0, false, fmt.Errorf("cannot read a sign of life of %d bytes", len(data))
	}
	return binary.BigEndian.Uint64(data), data[8] == answerWanted, nil
}

// expect reads a frame with JSON of the kind; a refusal is an error.
func (f *frames) expect(kind byte, into any) error {
	got, err := f.next()
	switch {
	case err != nil:
		return err
	case got.kind == frameRefused:
		return &RefusedError{Message: string(got.data)}
	case got.kind != kind:
		return fmt.Errorf("cannot read a frame of kind %q where %q belongs", got.kind, kind)
	}
	if err := json.Unmarshal(got.data, into); err != nil {
		return fmt.Errorf("cannot read a frame of kind %q: %w", kind, err)
	}
	return nil
}

// send writes a frame with JSON.
func send(w io.Writer, kind byte, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(appendFrame(nil, kind, data))
	return err
}

// RefusedError is the executor's reason to refuse a host.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return e.Message }
