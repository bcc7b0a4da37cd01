package journal

import (
	"errors"
	"fmt"
	"io"

	"github.com/settle-agent/settle/event"
)

// surveyed is what the records of a log amount to.
type surveyed struct {
	state  event.State
	end    int64 // of the good records
	marks  []mark
	damage error // why the log does not go on; nil at its end
}

// survey reads the log. Its errors are those of reading, [NewerError] and
// [ForeignError]; damage is not an error.
func survey(session, path string, r io.ReaderAt, size int64) (surveyed, error) {
	x, err := measure(r, size)
	if err != nil {
		return surveyed{}, &AccessError{Path: path, Err: err}
	}
	state, at, err := replay(r, x)
	var newer *event.NewerVersionError
	switch {
	case errors.As(err, &newer):
		return surveyed{}, &NewerError{Path: path, Version: newer.Version}
	case err != nil && at < 0:
		return surveyed{}, &AccessError{Path: path, Err: err}
	case err != nil:
		// A whole record that makes no sense: the log ends before it. Another
		// turn is open there, so the deltas to be read are others.
		found, again := survey(session, path, r, at)
		found.damage = &DamageError{Offset: at, Why: fmt.Sprintf("a record does not follow those before it: %v", err)}
		return found, again
	case state.Session != "" && state.Session != session:
		return surveyed{}, &ForeignError{Path: path, What: fmt.Sprintf("the log of session %q", state.Session)}
	}
	return surveyed{state, x.end, x.marks, x.damage}, nil
}

// extent is what can be told of a log without decoding its events.
type extent struct {
	end    int64 // of the good records
	marks  []mark
	turn   int64 // where the turn begins that is still open at the end, or end
	damage error
}

// measure checks every record.
func measure(r io.ReaderAt, size int64) (extent, error) {
	start := int64(len(header(formatVersion)))
	s := scan(r, start, size, scanBuffer)
	x := extent{turn: -1}
	for seq := uint64(1); ; seq++ {
		record, err := s.next()
		if damage := (*DamageError)(nil); errors.As(err, &damage) {
			x.damage = damage
			break
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return extent{}, err
		}
		switch record.class {
		case classTurnStart:
			x.turn = record.off
		case classTurnEnd:
			x.turn = -1
		}
		x.marks = addMark(x.marks, seq, s.off)
	}
	x.end = s.off
	if x.turn < 0 {
		x.turn = x.end
	}
	return x, nil
}

// replay folds the records. It passes over the deltas of ended turns: what
// they say, the endings say again. With an error, it returns where the
// record is that cannot be folded, or -1 if it could not be read.
func replay(r io.ReaderAt, x extent) (event.State, int64, error) {
	var state event.State
	s := scan(r, int64(len(header(formatVersion))), x.end, scanBuffer)
	for {
		record, err := s.next()
		if errors.Is(err, io.EOF) {
			return state, -1, nil
		}
		if err != nil {
			return state, -1, err
		}
		if record.class == classDelta && record.off < x.turn {
			state.Seq++
			continue
		}
		e, err := record.decode()
		if err == nil {
			state, err = event.Fold(state, e)
		}
		if err != nil {
			return state, record.off, err
		}
	}
}
