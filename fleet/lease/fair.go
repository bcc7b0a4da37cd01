package lease

import "fmt"

// fair chooses units that wait, by start-time fair queueing (Goyal, Vin and Cheng,
// 1996): a unit begins at the virtual time at which its tenant's last one was over,
// each taking 1/weight, or now, if that is later: a tenant that had nothing to do saves
// nothing up. Now is when the last unit began.
//
// A place is given before it is committed: where two programs submit to one session, a
// later unit may run before an earlier one is seen.
const fair = `t AS (
	SELECT name, weight, greatest(next, (SELECT max(begun) FROM settle_fleet.tenant)) AS next, greatest(0, least($2::int, slots -
		CASE WHEN slots IS NOT NULL THEN (SELECT count(*) FROM settle_fleet.unit r WHERE %s AND r.tenant = name) END)) AS most
	FROM settle_fleet.tenant
), p AS (
	SELECT u.id, t.name, t.next + (u.n - 1) / t.weight AS begins FROM t, LATERAL (
		SELECT id, place, row_number() OVER (ORDER BY place) AS n FROM (
			SELECT u.id, u.place FROM settle_fleet.unit u WHERE u.state = 'queued' AND u.tenant = t.name AND %s
			AND NOT EXISTS (SELECT FROM settle_fleet.unit b WHERE b.session = u.session AND b.state <> 'ended' AND (b.place < u.place OR b.state = 'running'))
			ORDER BY u.place LIMIT t.most
		) u
	) u ORDER BY begins, u.place LIMIT greatest(0, $2::int - (SELECT count(*) FROM l))
), q AS (
	SELECT u.id, u.session, p.name, p.begins FROM settle_fleet.unit u JOIN p USING (id) WHERE u.state = 'queued' FOR UPDATE OF u SKIP LOCKED
), v AS (
	UPDATE settle_fleet.tenant t SET begun = v.last, next = v.last + 1 / t.weight
	FROM (SELECT name, max(begins) AS last FROM q GROUP BY name) v WHERE t.name = v.name
)`

// Fair returns the part of a statement that chooses units which wait, of each session
// the first one, so that tenants get their shares: as q, at most $2 less the rows of l.
// Of those that wait (u) it chooses such as are ready; those that are busy (r) take
// their tenant's slots. The transaction holds [ClaimLock].
func Fair(ready, busy string) string { return fmt.Sprintf(fair, busy, ready) }
