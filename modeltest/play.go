package modeltest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// player sends one response with its faults.
type player struct {
	s      *Server
	x      *Exchange
	wire   wire
	turn   Turn
	faults []Fault
	struck []bool // of each fault, whether it has struck
	r      rendering
	held   *frame // an item's start, swapped with its first delta
	deltas int
	begun  bool // the headers have been sent
	use    *cacheUse
}

// eventStream is the Content-Type of a stream.
const eventStream = "text/event-stream; charset=utf-8"

// play sends the response and returns nil when all of it has been sent.
func (p *player) play(stream bool) error {
	if err := p.strike(BeforeHeaders); err != nil {
		return err
	}
	if !stream {
		return p.respondWhole()
	}
	contentType := eventStream
	if f := p.find(FaultContentType); f != nil {
		contentType = f.ContentType
	}
	if err := p.begin(contentType); err != nil {
		return err
	}
	if err := p.strike(AfterHeaders); err != nil {
		return err
	}
	for f := range p.r.frames() {
		if err := p.send(f); err != nil {
			return err
		}
	}
	return p.strike(AfterEnd)
}

// frame sets the wire up as the faults ask.
func (p *player) frame() {
	p.struck = make([]bool, len(p.faults))
	p.wire.eol = "\n"
	p.r.quirks = map[FaultKind]bool{}
	for _, f := range p.faults {
		p.r.quirks[f.Kind] = true
		switch f.Kind {
		case FaultCRLF:
			p.wire.eol = "\r\n"
		case FaultBareCR:
			p.wire.eol = "\r"
		case FaultDrip:
			p.wire.drip, p.wire.pause = true, time.Duration(f.Every)
		case FaultNoEventNames:
			p.wire.unnamed = true
		}
	}
}

func (p *player) find(kind FaultKind) *Fault {
	i := slices.IndexFunc(p.faults, func(f Fault) bool { return f.Kind == kind })
	if i < 0 {
		return nil
	}
	return &p.faults[i]
}

// begin sends the headers, unless they have been sent.
func (p *player) begin(contentType string) error {
	if p.begun {
		return nil
	}
	p.begun = true
	p.cache()
	p.s.rec.update(func() { p.x.Status = http.StatusOK })
	p.wire.w.Header().Set("X-Request-Id", fmt.Sprintf("req_%06d", p.x.N))
	return p.wire.header(http.StatusOK, contentType)
}

// count has the response report the use of the caches.
func (p *player) count(use *cacheUse) {
	if use == nil {
		return
	}
	p.use = use
	if p.r.Usage == nil {
		u := p.r.usage()
		u.Input, u.CacheRead, u.CacheWrite = use.input, use.read, use.written
		p.r.Usage = &u
	}
}

// cache writes to the caches, as soon as the response begins.
func (p *player) cache() {
	if p.use != nil {
		p.s.caches.write(p.use.writes, p.x.At)
	}
}

// send sends a frame, and the faults before and after it.
func (p *player) send(f frame) error {
	if f.end {
		if err := p.strikeRest(); err != nil {
			return err
		}
	}
	if f.delta && p.r.Pace > 0 {
		if err := p.wire.wait(time.Duration(p.r.Pace), nil); err != nil {
			return err
		}
	}
	if err := p.between(); err != nil {
		return err
	}
	if err := p.write(f); err != nil {
		return err
	}
	if f.delta {
		p.deltas++
		p.s.rec.update(func() { p.x.Deltas = p.deltas })
	}
	if len(p.faults) == 0 {
		return nil
	}
	return p.strikeAfter(f)
}

// strikeAfter lets the faults strike whose place is just after the frame.
func (p *player) strikeAfter(f frame) error {
	var places []At
	if f.delta {
		places = append(places, AfterDelta(p.deltas))
	}
	if f.half > 0 {
		places = append(places, WithinArguments(f.half))
	}
	if f.call > 0 {
		places = append(places, AfterCall(f.call))
	}
	if f.items {
		places = append(places, AfterItems)
	}
	for _, at := range places {
		if err := p.strike(at); err != nil {
			return err
		}
	}
	return nil
}

// between sends the bytes between two events.
func (p *player) between() error {
	if p.r.quirks[FaultComments] {
		if err := p.wire.comment("nothing to see"); err != nil {
			return err
		}
	}
	if p.r.quirks[FaultUnknowns] {
		return p.wire.frame(unknownFrame())
	}
	return nil
}

func unknownFrame() frame {
	return frame{
		event: "modeltest.unknown",
		data:  []byte(`{"type":"modeltest.unknown","choices":[],"index":7,"output_index":7}`),
	}
}

// write sends a frame once, twice, or after the next delta, as the faults ask.
func (p *player) write(f frame) error {
	if p.r.quirks[FaultSwap] && f.start && !f.delta {
		p.held = &f
		return nil
	}
	err := p.wire.frame(f)
	if err == nil && p.r.quirks[FaultRepeat] {
		err = p.wire.frame(f)
	}
	if held := p.held; err == nil && held != nil && (f.delta || f.items || f.call > 0) {
		p.held = nil
		err = p.wire.frame(*held)
	}
	return err
}

// strike lets the faults of that place strike. A fault that replaces the response strikes before
// the headers, regardless of its place.
func (p *player) strike(at At) error {
	for i, f := range p.faults {
		if f.place() == at && !p.struck[i] {
			if err := p.hit(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// strikeRest applies the faults for which the response had no place, and the faults at
// its end.
func (p *player) strikeRest() error {
	for i, f := range p.faults {
		if at := f.place(); at != "" && at != AfterEnd && !p.struck[i] {
			if err := p.hit(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// place returns the place at which the fault strikes; "" for faults of the whole stream.
func (f Fault) place() At {
	switch f.Kind {
	case FaultStatus, FaultForeign:
		return BeforeHeaders
	case FaultSilence, FaultPings, FaultReset, FaultCut, FaultClose, FaultMalformed, FaultOversized,
		FaultError, FaultUnknown:
		if f.At == "" {
			return AfterDelta(1)
		}
		return f.At
	}
	return ""
}

// hit strikes fault i. It returns an error if the response ends with it.
func (p *player) hit(i int) error {
	f := p.faults[i]
	p.struck[i] = true
	p.s.rec.update(func() { p.x.Struck = append(p.x.Struck, f.Kind) })
	switch f.Kind {
	case FaultSilence:
		return p.wire.wait(time.Duration(f.For), f.Until)
	case FaultStatus:
		p.s.refuse(p.wire.w, p.x, f.failure(p.r.dialect))
		return errFault
	case FaultForeign:
		return errors.Join(p.begin(f.ContentType), p.wire.send([]byte(f.Body)), errFault)
	case FaultReset, FaultCut:
		return p.cut(f.Kind)
	}
	if err := p.begin(eventStream); err != nil {
		return err
	}
	switch f.Kind {
	case FaultPings:
		return p.ping(f)
	case FaultMalformed:
		return p.wire.frame(
			frame{
				event: "response.output_text.delta",
				data:  []byte(`{"type":"response.output_text.delta","delta":"unfinis`),
			},
		)
	case FaultOversized:
		return p.wire.oversized(f.Bytes)
	case FaultUnknown:
		return p.wire.frame(unknownFrame())
	case FaultError:
		return errors.Join(p.wire.frame(f.event(p.r.dialect, p.r.sequence)), errFault)
	}
	return errFault // FaultClose: the body ends when the handler returns
}

// cut ends the connection, after all written bytes were sent.
func (p *player) cut(kind FaultKind) error {
	if p.begun {
		if err := p.wire.flush(); err != nil {
			return err
		}
	}
	p.s.rec.end(p.x, EndedByFault, time.Now())
	p.wire.cut(kind)
	return errFault
}

// ping sends keep-alives until the fault has lasted long enough.
func (p *player) ping(f Fault) error {
	every := max(time.Duration(f.Every), time.Millisecond)
	for spent := time.Duration(0); f.For == 0 || spent < time.Duration(f.For); spent += every {
		if err := p.wire.wait(every, nil); err != nil {
			return err
		}
		if err := p.wire.ping(p.r.dialect); err != nil {
			return err
		}
	}
	return nil
}

// ping sends the keep-alive of the dialect's servers.
func (w *wire) ping(d Dialect) error {
	if d == Messages {
		return w.frame(frame{event: "ping", data: []byte(`{"type":"ping"}`)})
	}
	return w.comment("keep-alive")
}
