package journal

import (
	"errors"
	"fmt"
	"io"

	"github.com/settle-agent/settle/event"
)

// surveyed is the result of reading a log.
type surveyed struct {
	state  event.State
	end    int64 // end of the valid records
	marks  []mark
	damage error // why the log ends there; nil at its real end

	covered covered // by the snapshot
}

// survey reads the log. Its errors are read errors, [NewerError] and [ForeignError]; damage is
// not an error.
func survey(session, path string, r io.ReaderAt, size int64) (surveyed, error) {
	x, covered := readSnapshot(path, r, size)
	x.covered = covered
	found, err := x.read(r, size)
	var newer *event.NewerVersionError
	switch {
	case errors.As(err, &newer):
		return surveyed{}, &NewerError{Path: path, Version: newer.Version}
	case err != nil:
		return surveyed{}, &AccessError{Path: path, Err: err}
	case found.state.Session != "" && found.state.Session != session:
		return surveyed{}, &ForeignError{Path: path, What: fmt.Sprintf("the log of session %q", found.state.Session)}
	}
	return found, nil
}

// reading is the state of a survey.
type reading struct {
	surveyed
	decoder event.Decoder
	turn    mark // before the event that started the last turn
}

func newReading() *reading {
	return &reading{surveyed: surveyed{end: int64(len(header(formatVersion)))}}
}

// read reads the records from end to size once, and then again the records of an open turn. The
// first pass only counts deltas, because the endings of their items repeat them.
func (x *reading) read(r io.ReaderAt, size int64) (surveyed, error) {
	s := scan(r, x.end, size, scanBuffer)
	for x.damage == nil {
		record, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		damage := (*DamageError)(nil)
		switch {
		case errors.As(err, &damage):
			x.damage = damage
		case err != nil:
			return surveyed{}, err
		default:
			if err := x.take(record, s.off); err != nil {
				return surveyed{}, err
			}
		}
	}
	if x.state.Running() == nil {
		return x.surveyed, nil
	}
	return x.recall(r)
}

// take folds the record that ends at the offset.
func (x *reading) take(r record, end int64) error {
	if r.class == classDelta {
		x.state.Seq++
	} else {
		if r.class == classTurnStart {
			x.turn = mark{x.state.Seq, r.off}
		}
		next, err := x.fold(r)
		if newer := (*event.NewerVersionError)(nil); errors.As(err, &newer) {
			return err
		}
		if err != nil { // a complete record with invalid content: the log ends before it
			x.damage = misplaced(r.off, err)
			return nil
		}
		x.state = next
	}
	x.end = end
	x.marks = addMark(x.marks, x.state.Seq, end)
	return nil
}

func (x *reading) fold(r record) (event.State, error) {
	e, err := x.decoder.Decode(r.json)
	if err != nil {
		return x.state, err
	}
	return event.Fold(x.state, e)
}

// recall reads the deltas of the open items in an open turn.
func (x *reading) recall(r io.ReaderAt) (surveyed, error) {
	s := scan(r, x.turn.off, x.end, scanBuffer)
	for seq := x.turn.seq + 1; ; seq++ {
		record, err := s.next()
		if errors.Is(err, io.EOF) {
			return x.surveyed, nil
		}
		if err != nil {
			return surveyed{}, err
		}
		if record.class != classDelta {
			continue
		}
		err = x.apply(record, seq)
		if newer := (*event.NewerVersionError)(nil); errors.As(err, &newer) {
			return surveyed{}, err
		}
		if err != nil { // other items are open at the new end
			found, failed := newReading().read(r, record.off)
			if found.damage == nil {
				found.damage = misplaced(record.off, err)
			}
			return found, failed
		}
	}
}

func (x *reading) apply(r record, seq uint64) error {
	e, err := x.decoder.Decode(r.json)
	if err != nil {
		return err
	}
	if e.Seq != seq {
		return fmt.Errorf("it has event %d where event %d should be", e.Seq, seq)
	}
	x.state, err = event.Recall(x.state, e)
	return err
}

func misplaced(off int64, err error) *DamageError {
	return &DamageError{Offset: off, Why: fmt.Sprintf("a record does not follow those before it: %v", err)}
}
