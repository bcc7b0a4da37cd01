// Has the Claude Agent SDK do one of the things below with settle, and prints
// what it is told, one JSON object a line.
import { query, startup, createSdkMcpServer, tool } from '@anthropic-ai/claude-agent-sdk';

import { z } from 'zod';

const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');

const common = {
  pathToClaudeCodeExecutable: process.env.CLAUDE,
  executableArgs: process.env.CLAUDE.endsWith('claude') ? [] : ['claude'],
  cwd: process.cwd(),
  stderr: (text) => process.stderr.write(text),
};

// run prints what a query tells; each is called with each message.
async function run(prompt, options, each = () => {}) {
  const q = query({ prompt, options: { ...common, ...options } });
  try {
    for await (const m of q) {
      say(m);
      await each(m, q);
    }
    say({ type: 'end' });
  } catch (err) {
    say({ type: 'thrown', name: err.name, message: err.message });
  }
}

// talk is a stream of prompts that others add to, until it is closed.
function talk(...first) {
  const queue = first;
  let wake = () => {};
  let closed = false;
  return {
    add(text, more) { queue.push({ text, ...more }); wake(); },
    close() { closed = true; wake(); },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (queue.length > 0) {
          const next = queue.shift();
          const { text, ...more } = typeof next === 'string' ? { text: next } : next;
          yield { type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null, session_id: '', ...more };
        }
        if (closed) return;
        await new Promise((resolve) => { wake = resolve; });
      }
    },
  };
}

const calls = (m) => m.type === 'assistant' && m.message.content.some((b) => b.type === 'tool_use');

// asked says what the client is asked, and answers.
const asked = (answer) => async (name, input, o) => {
  say({ type: 'asked', name, input, call: o.toolUseID, suggestions: o.suggestions, description: o.description });
  o.signal.addEventListener('abort', () => say({ type: 'withdrawn' }));
  return answer(input, o);
};

// once returns a function that calls f at the first message that is meant.
const once = (is, f) => {
  let done = false;
  return async (m, q) => {
    if (done || !is(m)) return;
    done = true;
    await f(q, m);
  };
};

// started is when a call runs: it has written a file.
async function started(file) {
  const { existsSync } = await import('node:fs');
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));
}

const cases = {
  query: (o) => run('hello', o),
  command: ({ prompt, ...o }) => run(prompt, o, once((m) => m.type === 'result', async (q) => say({ type: 'try', name: 'commands', ok: true, value: await q.supportedCommands() }))),
  allow: (o) => run('hello', { ...o, canUseTool: asked((input) => ({ behavior: 'allow', updatedInput: input })) }),
  deny: (o) => run('hello', { ...o, canUseTool: asked(() => ({ behavior: 'deny', message: 'not today' })) }),
  denyAndInterrupt: (o) => run('hello', { ...o, canUseTool: asked(() => ({ behavior: 'deny', message: 'stop it', interrupt: true })) }),
  change: (o) => run('hello', { ...o, canUseTool: asked((input) => ({ behavior: 'allow', updatedInput: { ...input, command: 'echo changed > changed' } })) }),
  always: (o) => run('hello', { ...o, canUseTool: asked((input, { suggestions }) => ({ behavior: 'allow', updatedInput: input, updatedPermissions: suggestions })) }),
  throwing: (o) => run('hello', { ...o, canUseTool: asked(() => { throw new Error('callback broke'); }) }),
  unanswered: (o) => {
    const t = talk('hello');
    let reached;
    const question = new Promise((resolve) => { reached = resolve; });
    const never = () => { reached(); return new Promise(() => {}); };
    return run(t, { ...o, canUseTool: asked(never) }, once(calls, async (q) => {
      await question;
      say({ type: 'answer', response: await q.interrupt() });
      t.close();
    }));
  },
  // Prompts that come while a turn runs, and one after that.
  several: (o) => {
    const t = talk('one', { text: 'two', uuid: '11111111-1111-4111-8111-111111111111' });
    let results = 0;
    return run(t, { ...o, canUseTool: asked((input) => ({ behavior: 'allow', updatedInput: input })) }, (m) => {
      if (m.type !== 'result') return;
      results++;
      if (results === 2) t.add('three');
      if (results === 3) t.close();
    });
  },
  // All prompts at once, then the end of the input.
  batch: (o) => {
    const t = talk('one', 'two', 'three');
    t.close();
    return run(t, { ...o, canUseTool: asked((input) => ({ behavior: 'allow', updatedInput: input })) });
  },
  interrupt: (o) => {
    const t = talk('one');
    return run(t, o, once(calls, async (q) => {
      await started('running');
      const begin = Date.now();
      const response = await q.interrupt();
      say({ type: 'answer', response, took: Date.now() - begin });
      t.add('go on');
      t.close();
    }));
  },
  // The interrupted turn has a prompt behind it, and another comes at once.
  interruptAndMore: (o) => {
    const t = talk('one', { text: 'two', uuid: '22222222-2222-4222-8222-222222222222' });
    return run(t, o, once(calls, async (q) => {
      await started('running');
      const interrupted = q.interrupt();
      t.add('three');
      say({ type: 'answer', response: await interrupted });
      t.close();
    }));
  },
  interruptAndCancel: (o) => {
    const t = talk('one', { text: 'two', uuid: '22222222-2222-4222-8222-222222222222' });
    return run(t, o, once(calls, async (q) => {
      await started('running');
      say({ type: 'answer', response: await q.interrupt({ cancelQueued: true }) });
      t.close();
    }));
  },
  twice: (o) => {
    const t = talk('one');
    return run(t, o, once(calls, async (q) => {
      await started('running');
      const all = await Promise.all([q.interrupt(), q.interrupt(), q.interrupt()]);
      for (const response of all) say({ type: 'answer', response });
      t.add('go on');
      t.close();
    }));
  },
  early: async (o) => {
    const q = query({ prompt: 'hello', options: { ...common, ...o } });
    const interrupted = q.interrupt();
    try {
      for await (const m of q) say(m);
      say({ type: 'end' });
    } catch (err) {
      say({ type: 'thrown', name: err.name, message: err.message });
    }
    say({ type: 'answer', response: await interrupted });
  },
  idle: (o) => {
    const t = talk();
    const q = query({ prompt: t, options: { ...common, ...o } });
    return (async () => {
      say({ type: 'answer', response: await q.interrupt() });
      say({ type: 'answer', response: await q.interrupt() });
      t.add('hello');
      t.close();
      for await (const m of q) say(m);
      say({ type: 'end' });
    })();
  },
  // A process that is started before there is a prompt.
  warm: async (o) => {
    const warm = await startup({ options: { ...common, ...o } });
    say({ type: 'started' });
    for await (const m of warm.query('hello')) say(m);
    say({ type: 'end' });
  },
  // A client that has seen enough.
  leave: async (o) => {
    const begin = Date.now();
    for await (const m of query({ prompt: 'hello', options: { ...common, ...o } })) {
      say(m);
      if (!calls(m)) continue;
      await started('running');
      break;
    }
    say({ type: 'took', ms: Date.now() - begin });
  },
  abort: async (o) => {
    const abortController = new AbortController();
    const begin = Date.now();
    await run('hello', { ...o, abortController }, once(calls, async () => {
      await started('running');
      abortController.abort();
    }));
    say({ type: 'took', ms: Date.now() - begin });
  },
  hold: (o) => run('hello', o, once(calls, async () => {
    await started('running');
    say({ type: 'running' });
  })),
  modes: (o) => {
    const t = talk('one');
    let results = 0;
    return run(t, { ...o, canUseTool: asked(() => ({ behavior: 'deny', message: 'asked in the default mode' })) }, async (m, q) => {
      if (m.type !== 'result') return;
      const next = ['acceptEdits', 'plan', 'dontAsk', 'bypassPermissions'][results++];
      if (!next) return t.close();
      await q.setPermissionMode(next);
      t.add(next);
    });
  },
  refusals: async (o) => {
    const t = talk();
    const q = query({ prompt: t, options: { ...common, ...o } });
    const tries = {
      bypass: () => q.setPermissionMode('bypassPermissions'),
      nonsense: () => q.setPermissionMode('nonsense'),
      thinking: () => q.setMaxThinkingTokens(1000),
      context: () => q.getContextUsage(),
      rewind: () => q.rewindFiles('x'),
      servers: () => q.mcpServerStatus(),
      models: () => q.supportedModels(),
      commands: () => q.supportedCommands(),
      account: () => q.accountInfo(),
      cancel: () => q.cancelAsyncMessage?.('x'),
      stop: () => q.stopTask('x'),
    };
    for (const [name, f] of Object.entries(tries)) {
      try {
        say({ type: 'try', name, ok: true, value: await f() });
      } catch (err) {
        say({ type: 'try', name, ok: false, message: err.message });
      }
    }
    t.close();
    for await (const m of q) say(m);
    say({ type: 'end' });
  },
  model: (o) => {
    const t = talk('one');
    return run(t, o, once((m) => m.type === 'result', async (q) => {
      await q.setModel('claude-haiku-5-5');
      t.add('two');
      t.close();
    }));
  },
  hooks: (o) => {
    const hook = (kind, answer) => async (input, id) => {
      say({ type: 'hook', kind, input, id });
      return answer(input);
    };
    const decision = (permissionDecision, more) => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, ...more } });
    return run('hello', {
      ...o,
      hooks: {
        PreToolUse: [
          { matcher: 'Write|Edit', hooks: [hook('writes', () => decision('deny', { permissionDecisionReason: 'files are holy' }))] },
          { matcher: 'Bash', hooks: [hook('bash', () => decision('allow'))] },
        ],
        PostToolUse: [{ hooks: [hook('after', () => ({}))] }],
        Notification: [{ hooks: [hook('never', () => ({}))] }],
      },
    });
  },
  // Servers in this process, and one that settle starts.
  servers: (o) => {
    const t = talk('hello');
    let reached;
    const hanging = new Promise((resolve) => { reached = resolve; });
    return run(t, {
      ...o,
      canUseTool: asked((input) => ({ behavior: 'allow', updatedInput: input })),
      mcpServers: {
        mine: createSdkMcpServer({
          name: 'mine', version: '1.0.0',
          tools: [
            tool('add', 'Adds two numbers', { a: z.number(), b: z.number() }, async ({ a, b }) => ({ content: [{ type: 'text', text: `sum ${a + b}` }] })),
            tool('fail', 'Fails', {}, async () => { throw new Error('broken on purpose'); }),
            tool('hang', 'Never answers', {}, () => { reached(); return new Promise(() => {}); }),
          ],
        }),
        other: { type: 'stdio', command: process.env.SERVER, args: [] },
      },
      agents: { helper: { description: 'helps', prompt: 'help' } },
    }, async (m, q) => {
      if (m.type === 'assistant' && m.message.content.some((b) => b.type === 'tool_use' && b.name === 'mcp__mine__hang')) {
        await hanging;
        await q.interrupt();
      }
      if (m.type !== 'result') return;
      say({ type: 'try', name: 'servers', ok: true, value: await q.mcpServerStatus() });
      t.close();
    });
  },
};

await cases[process.argv[2]](JSON.parse(process.argv[3] || '{}'));
