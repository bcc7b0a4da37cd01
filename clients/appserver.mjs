// A client that speaks JSON lines, for programs that it starts: it takes the
// steps of a plan, and writes down every message, either way, with the
// milliseconds since the beginning.
//
//   node appserver.mjs PLAN COMMAND [ARGUMENT…]
//
// A plan is a file with JSON: {"jsonrpc": true to mark messages so, "steps": […]}.
// A step is an array:
//   ["call", method, params, save]   a request; the answer is waited for, and its
//                                    fields are saved as variables: {"name": "path.to.field"}
//   ["begin", method, params, save]  the same, but nobody waits
//   ["finish"]                       waits for the answers of all that was begun
//   ["notify", method, params]
//   ["await", method, fields]        waits for a message from the other side
//   ["decide", decision]             how requests for approval are answered from
//                                    here on: a decision, or "nothing"
//   ["many", n, method, params]      n requests at once
//   ["line", text]                   a line as it is
//   ["close"]                        closes the other side's standard input
//   ["exited"]                       waits for the other side's end
//   ["deafen"]                       the other side's output is not read any more
//   ["signal", name]                 a signal to the other side
//   ["kill"]                         this client is killed
// "${name}" in params and fields stands for a variable.
import {spawn} from 'node:child_process'
import fs from 'node:fs'
import readline from 'node:readline'

const [planFile, command, ...args] = process.argv.slice(2)
const plan = JSON.parse(fs.readFileSync(planFile, 'utf8'))
const begin = Date.now()
const other = spawn(command, args, {stdio: ['pipe', 'pipe', 'inherit']})
const exited = new Promise(done => other.on('exit', (code, signal) => done({code, signal})))
const vars = {}
const answers = new Map() // by the request's id
const begun = []
const heard = []
const waiting = []
let lastID = 0
let decision = 'nothing'

const write = (dir, msg) => fs.writeSync(1, JSON.stringify({at: Date.now() - begin, dir, msg}) + '\n')
const send = msg => {
  if (plan.jsonrpc) msg = {jsonrpc: '2.0', ...msg}
  write('out', msg)
  other.stdin.write(JSON.stringify(msg) + '\n')
}
other.stdin.on('error', () => {})

const filled = value => {
  if (typeof value === 'string') {
    const whole = value.match(/^\$\{(\w+)\}$/)
    return whole ? vars[whole[1]] : value.replace(/\$\{(\w+)\}/g, (_, name) => vars[name])
  }
  if (Array.isArray(value)) return value.map(filled)
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, filled(v)]))
  return value
}
const matches = (want, got) => want && typeof want === 'object'
  ? Object.entries(want).every(([k, v]) => got && matches(v, got[k]))
  : want === got

// answer gives the word that the plan has decided on.
const answer = m => {
  if (decision === 'nothing') return
  if (m.method === 'session/request_permission') {
    const option = m.params.options.find(o => o.kind === decision || o.optionId === decision)
    send({id: m.id, result: {outcome: option ? {outcome: 'selected', optionId: option.optionId} : {outcome: 'cancelled'}}})
    return
  }
  send({id: m.id, result: {decision}})
}

readline.createInterface({input: other.stdout}).on('line', line => {
  const m = JSON.parse(line)
  write('in', m)
  if (m.method === undefined) {
    answers.get(m.id)?.(m)
    return
  }
  if (m.id !== undefined) answer(m)
  heard.push(m)
  for (const w of waiting.splice(0)) w()
})

const request = (method, params, save) => new Promise(done => {
  const id = ++lastID
  answers.set(id, m => {
    for (const [name, path] of Object.entries(save ?? {})) vars[name] = path.split('.').reduce((v, k) => v?.[k], m.result)
    done(m)
  })
  send({id, method, params: filled(params ?? {})})
})

// Each message is awaited once: a later await looks behind what an earlier one
// of the same method found.
const found = new Map()
const awaited = async (method, fields) => {
  for (;;) {
    const at = heard.findIndex((m, n) => n >= (found.get(method) ?? 0) && m.method === method && matches(filled(fields ?? {}), m.params))
    if (at >= 0) return found.set(method, at + 1)
    await new Promise(next => waiting.push(next))
  }
}

const steps = {
  call: request,
  begin: (...r) => { begun.push(request(...r)) },
  finish: () => Promise.all(begun),
  notify: (method, params) => send({method, params: filled(params)}),
  await: awaited,
  decide: d => { decision = d },
  many: (n, method, params) => Promise.all(Array.from({length: n}, () => request(method, params))),
  line: text => other.stdin.write(text + '\n'),
  close: () => other.stdin.end(),
  exited: () => exited,
  deafen: () => { other.stdout.destroy() },
  signal: name => { other.kill(name) },
  kill: () => process.kill(process.pid, 'SIGKILL'),
}
for (const [name, ...rest] of plan.steps) await steps[name](...rest)
other.stdin.end()
write('exit', await exited)
