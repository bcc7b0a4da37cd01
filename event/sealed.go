package event

// Kind and sealed make each data type a member of the union.

func (SessionOpened) Kind() Kind      { return KindSessionOpened }
func (SessionRecovered) Kind() Kind   { return KindSessionRecovered }
func (SessionClosed) Kind() Kind      { return KindSessionClosed }
func (InputAccepted) Kind() Kind      { return KindInputAccepted }
func (InputHeld) Kind() Kind          { return KindInputHeld }
func (InputDropped) Kind() Kind       { return KindInputDropped }
func (InterruptRequested) Kind() Kind { return KindInterruptRequested }
func (TurnStarted) Kind() Kind        { return KindTurnStarted }
func (TurnCompleted) Kind() Kind      { return KindTurnCompleted }
func (TurnAborted) Kind() Kind        { return KindTurnAborted }
func (TurnFailed) Kind() Kind         { return KindTurnFailed }
func (HistoryChanged) Kind() Kind     { return KindHistoryChanged }
func (AttemptStarted) Kind() Kind     { return KindAttemptStarted }
func (AttemptEnded) Kind() Kind       { return KindAttemptEnded }
func (ItemStarted) Kind() Kind        { return KindItemStarted }
func (ItemDelta) Kind() Kind          { return KindItemDelta }
func (ItemEnded) Kind() Kind          { return KindItemEnded }
func (CallReady) Kind() Kind          { return KindCallReady }
func (CallStarted) Kind() Kind        { return KindCallStarted }
func (ApprovalRequested) Kind() Kind  { return KindApprovalRequested }
func (ApprovalEnded) Kind() Kind      { return KindApprovalEnded }
func (JobStarted) Kind() Kind         { return KindJobStarted }
func (JobEnded) Kind() Kind           { return KindJobEnded }
func (ChildStarted) Kind() Kind       { return KindChildStarted }
func (ChildEnded) Kind() Kind         { return KindChildEnded }
func (HookStarted) Kind() Kind        { return KindHookStarted }
func (HookEnded) Kind() Kind          { return KindHookEnded }

func (SessionOpened) sealed()      {}
func (SessionRecovered) sealed()   {}
func (SessionClosed) sealed()      {}
func (InputAccepted) sealed()      {}
func (InputHeld) sealed()          {}
func (InputDropped) sealed()       {}
func (InterruptRequested) sealed() {}
func (TurnStarted) sealed()        {}
func (TurnCompleted) sealed()      {}
func (TurnAborted) sealed()        {}
func (TurnFailed) sealed()         {}
func (HistoryChanged) sealed()     {}
func (AttemptStarted) sealed()     {}
func (AttemptEnded) sealed()       {}
func (ItemStarted) sealed()        {}
func (ItemDelta) sealed()          {}
func (ItemEnded) sealed()          {}
func (CallReady) sealed()          {}
func (CallStarted) sealed()        {}
func (ApprovalRequested) sealed()  {}
func (ApprovalEnded) sealed()      {}
func (JobStarted) sealed()         {}
func (JobEnded) sealed()           {}
func (ChildStarted) sealed()       {}
func (ChildEnded) sealed()         {}
func (HookStarted) sealed()        {}
func (HookEnded) sealed()          {}
