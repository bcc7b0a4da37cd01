// The token that lets this tab in. The link has it in its fragment, which no
// browser sends anywhere; the tab keeps it, and each request carries it in a
// header. A cookie would go to every port of the host.

const KEY = "settle.token";
let token = "";
try { token = sessionStorage.getItem(KEY) ?? ""; } catch { /* kept for as long as the page is */ }

export const known = () => token !== "";
export const value = () => token;

let onRefusal = () => {};

/** Says what to do when the server refuses the token. */
export function whenRefused(f) { onRefusal = f; }
export const refused = () => onRefusal();

/** The headers of every request. */
export const headers = () => ({ Authorization: `Bearer ${token}`, "Settle-Client": "web" });

export function keep(to) {
  token = to;
  try { if (token) sessionStorage.setItem(KEY, token); else sessionStorage.removeItem(KEY); } catch { /* as above */ }
}

/** The token in a link or fragment, or what was pasted instead of one; "" where a header could not carry it. */
export function tokenIn(pasted) {
  const said = pasted.trim();
  const found = /#token=([^&\s]*)/.exec(said);
  let it = found ? found[1] : /^\w+:\/\//.test(said) ? "" : said;
  if (found) try { it = decodeURIComponent(it); } catch { /* it is not encoded */ }
  return /^[!-~]+$/.test(it) ? it : "";
}

/** Takes the token out of the address, and out of the history with it. Returns whether there was one. */
export function takeFromAddress() {
  if (!location.hash.startsWith("#token=")) return false;
  const found = tokenIn(location.hash);
  history.replaceState(null, "", location.pathname);
  if (found) keep(found);
  return found !== "";
}
