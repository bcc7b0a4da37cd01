package run

import (
	"context"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// lines shows a turn as JSON, one event a line.
type lines struct {
	stage  oneturn.Stage
	deltas bool
	late   lateNotices
}

func newLines(stage oneturn.Stage, o Options) *lines {
	return &lines{stage: stage, deltas: o.Format == JSONDeltas, late: lateNotices{silent: o.Volume != Normal}}
}

// Follow implements [oneturn.View]. It shows the events as they are: deriving
// more from them would only cost.
func (l *lines) Follow(ctx context.Context, session *settle.Session, cursor uint64) func() error {
	return func() error {
		for e, err := range session.Events(ctx, cursor) {
			if err != nil {
				return err
			}
			if e.Seq == cursor+1 && e.Kind() == event.KindSessionClosed {
				continue // by an earlier host
			}
			if l.show(e); e.Terminal() {
				return nil
			}
		}
		return nil
	}
}

func (l *lines) show(e event.Event) {
	switch d, isDelta := e.Data.(event.ItemDelta); {
	case d.Notice:
		l.late.keep(transcript.NoticeOf(d))
	case isDelta && !l.deltas:
		return
	}
	l.stage.Write(func(b []byte) []byte {
		line, err := e.AppendJSON(b)
		if err != nil {
			return b // it could not have been in the log either
		}
		return append(line, '\n')
	})
}

// Finish implements [oneturn.View].
func (l *lines) Finish(string) {}

// Fail implements [oneturn.View]. There is no event of the session to print.
func (l *lines) Fail(string) {}

// Last implements [oneturn.View].
func (l *lines) Last() []byte {
	l.late.flush(l.stage.Err)
	return nil
}

// narrated shows a turn as JSON, and its progress on standard error.
type narrated struct {
	*lines
	text *textView
}

// Follow implements [oneturn.View].
func (n *narrated) Follow(ctx context.Context, session *settle.Session, cursor uint64) func() error {
	events, progress := n.lines.Follow(ctx, session, cursor), n.text.Follow(ctx, session, cursor)
	return func() error {
		progressDone := make(chan struct{})
		go func() { // ends as the events do
			defer close(progressDone)
			_ = progress() // the events end with the same error
		}()
		err := events()
		<-progressDone
		return err
	}
}
