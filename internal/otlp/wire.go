package otlp

import (
	"encoding/binary"
	"errors"
	"math"
	"time"
)

// message is a protobuf message that is being written. Its fields are those of
// https://github.com/open-telemetry/opentelemetry-proto.
type message []byte

// The wire types of protobuf.
const (
	wireVarint = 0
	wireFixed  = 1
	wireBytes  = 2
)

func (m *message) varint(field int, v uint64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|wireVarint)
	*m = binary.AppendUvarint(*m, v)
}

func (m *message) fixed(field int, v uint64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|wireFixed)
	*m = binary.LittleEndian.AppendUint64(*m, v)
}

func (m *message) double(field int, v float64) { m.fixed(field, math.Float64bits(v)) }

func (m *message) time(field int, t time.Time) { m.fixed(field, uint64(t.UnixNano())) }

func (m *message) bytes(field int, b []byte) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|wireBytes)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}

func (m *message) text(field int, s string) { m.bytes(field, []byte(s)) }

// The fields of AnyValue.
const (
	valueString = 1
	valueInt    = 3
	valueDouble = 4
	valueArray  = 5
)

// attributes are a list of KeyValue, as the field of the message that has them.
type attributes struct {
	message
	field int
}

func (a *attributes) add(key string, value message) {
	var pair message
	pair.text(1, key)
	pair.bytes(2, value)
	a.bytes(a.field, pair)
}

// str adds a text, unless it is empty.
func (a *attributes) str(key, value string) {
	if value == "" {
		return
	}
	var v message
	v.text(valueString, valid(value))
	a.add(key, v)
}

// num adds a number, unless it is 0.
func (a *attributes) num(key string, value int64) {
	if value == 0 {
		return
	}
	var v message
	v.varint(valueInt, uint64(value))
	a.add(key, v)
}

// float adds a number, unless it is 0.
func (a *attributes) float(key string, value float64) {
	if value == 0 {
		return
	}
	var v message
	v.double(valueDouble, value)
	a.add(key, v)
}

// list adds a list of one text, unless that is empty.
func (a *attributes) list(key, value string) {
	if value == "" {
		return
	}
	var text, list, v message
	text.text(valueString, valid(value))
	list.bytes(1, text)
	v.bytes(valueArray, list)
	a.add(key, v)
}

// errCut is the error of a message that ends early or is none.
var errCut = errors.New("it is no protobuf message")

// next returns the first field of a message, its number or its bytes, and what follows.
func next(m []byte) (field int, number uint64, data, rest []byte, err error) {
	key, n := binary.Uvarint(m)
	if n <= 0 {
		return 0, 0, nil, nil, errCut
	}
	m = m[n:]
	number, n = binary.Uvarint(m)
	if n <= 0 {
		return 0, 0, nil, nil, errCut
	}
	m = m[n:]
	switch key & 7 {
	case wireVarint:
		return int(key >> 3), number, nil, m, nil
	case wireBytes:
		if number <= uint64(len(m)) {
			return int(key >> 3), 0, m[:number], m[number:], nil
		}
	}
	return 0, 0, nil, nil, errCut
}

func appendFixed(m message, v uint64) message { return binary.LittleEndian.AppendUint64(m, v) }

func appendDouble(m message, v float64) message { return appendFixed(m, math.Float64bits(v)) }
