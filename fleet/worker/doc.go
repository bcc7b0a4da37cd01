// Package worker runs the units that an engine gives it, each in its session:
//
//	Heartbeat ─► Attempt ─► open the session with its epoch (what a dead worker left is settled)
//	                └─► what the log says of the input:
//	                      unknown            submit it
//	                      its turn ended     that is the result
//	                      its turn crashed,  a new input goes on from there (C18); calls that
//	                      or never began     had started are not run again (C5)
//	             ─► turn ends ─► session closes ─► Complete
//
// A worker whose lease is over, or that finds its epoch old, ends what runs in the
// session, says so, and leaves the unit to whoever has it. A turn that ended only
// because its worker was told to stop goes on elsewhere.
package worker
