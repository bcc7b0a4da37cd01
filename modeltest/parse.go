package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ParseScenario reads a scenario file: the JSON of a [Scenario], described with
// examples in docs/reference/scenarios.md. It refuses unknown names, so
// that a typo is an error.
func ParseScenario(raw []byte) (Scenario, error) {
	var sc Scenario
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&sc); err != nil {
		return Scenario{}, fmt.Errorf("cannot read the scenario: %w", placed(raw, err))
	}
	if _, err := dec.Token(); err != io.EOF {
		return Scenario{}, errors.New("cannot read the scenario: there is something after its end")
	}
	for i, t := range sc.Turns {
		if err := t.check(); err != nil {
			return Scenario{}, fmt.Errorf("cannot read the scenario: turn %d: %w", i+1, err)
		}
	}
	return sc, nil
}

// placed adds the line to an error that has an offset.
func placed(raw []byte, err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &mismatch):
		offset = mismatch.Offset
	}
	if offset < 0 || offset > int64(len(raw)) {
		return err
	}
	return fmt.Errorf("line %d: %w", bytes.Count(raw[:offset], []byte("\n"))+1, err)
}

func (t Turn) check() error {
	if t.Recording != "" && (len(t.Items) > 0 || t.Usage != nil || t.Response.Stop != "") {
		return errors.New(`a "recording" says all: it has no "items", "usage" or "stop" beside it`)
	}
	for i, it := range t.Items {
		if it.Text == "" && it.Reasoning == "" && it.Refusal == "" && it.Call == "" && len(it.Finds) == 0 {
			return fmt.Errorf(`item %d has none of "say", "think", "call", "find_tools" and "refuse"`, i+1)
		}
	}
	stops := []StopReason{"", StopEndTurn, StopToolUse, StopMaxTokens, StopSequence, StopRefusal, StopPause, StopFilter}
	if !slices.Contains(stops, t.Response.Stop) {
		return fmt.Errorf("there is no stop reason %q", t.Response.Stop)
	}
	for i, f := range t.Faults {
		if err := f.check(); err != nil {
			return fmt.Errorf("fault %d: %w", i+1, err)
		}
	}
	return nil
}

func (f Fault) check() error {
	switch {
	case !slices.Contains(FaultKinds(), f.Kind):
		return fmt.Errorf("there is no fault %q", f.Kind)
	case !f.At.valid():
		return fmt.Errorf("there is no place %q in a response", f.At)
	case f.Times < Always:
		return fmt.Errorf("it cannot strike %d times", f.Times)
	case f.Kind == FaultStatus && (f.Status < 100 || f.Status > 599):
		return fmt.Errorf("%d is no HTTP status", f.Status)
	case f.Kind == FaultOversized && f.Bytes <= 0:
		return errors.New(`an oversized event needs its "bytes"`)
	case f.Kind == FaultForeign && f.ContentType == "", f.Kind == FaultContentType && f.ContentType == "":
		return errors.New(`it needs a "content_type"`)
	}
	return nil
}

// FaultKinds returns every kind of fault.
func FaultKinds() []FaultKind {
	return []FaultKind{
		FaultSilence,
		FaultPings,
		FaultReset,
		FaultCut,
		FaultClose,
		FaultMalformed,
		FaultOversized,
		FaultError,
		FaultUnknown,
		FaultStatus,
		FaultForeign,
		FaultDrip,
		FaultCRLF,
		FaultBareCR,
		FaultComments,
		FaultUnknowns,
		FaultRepeat,
		FaultSwap,
		FaultSameIndex,
		FaultReverseIndex,
		FaultNoEventNames,
		FaultContentType,
		FaultEmptyIDs,
		FaultSameIDs,
		FaultNoIDs,
		FaultNoIndexes,
		FaultNoUsage,
		FaultNoDone,
		FaultFinishStop,
		FaultWholeCalls,
		FaultReasoningField,
		FaultReasoningDetails,
	}
}
