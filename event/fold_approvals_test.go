package event

import "testing"

// A host that only records a verdict changes neither the directory nor the worktree of the session.
func TestVerdictKeepsDirectoryAndWorktree(t *testing.T) {
	left := &WorktreeLeft{Kept: true}
	s := State{HostSeq: 1, Host: SessionOpened{Dir: "/work", Worktree: &Worktree{Path: "/tree"}}, WorktreeLeft: left}
	verdict := SessionOpened{Dir: "/other", Frontend: FrontendApprovals}
	if what := s.sessionOpened(&Event{Seq: 9}, verdict); what != "" {
		t.Fatal(what)
	}
	s.sessionEnded(nil)
	if s.Host.Dir != "/work" || s.Host.Worktree == nil || s.WorktreeLeft != left {
		t.Errorf("%+v, left %+v", s.Host, s.WorktreeLeft)
	}
}
