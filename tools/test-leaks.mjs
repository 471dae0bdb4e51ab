// Names the timers, sockets, servers, workers, watchers and child processes that a test file (or a script of several)
// leaves behind, each with the place that made it, and fails. ava loads this module into every process before the
// tests; the check runs after the last test and the last hook. Resources that do not keep the process alive count too:
// an unreferenced timer of a stopped server is a leak in a program that starts many.
import {subscribe} from 'node:diagnostics_channel';
import fs from 'node:fs';
import {syncBuiltinESMExports} from 'node:module';
import net from 'node:net';
import {relative} from 'node:path';
import process from 'node:process';
import timers from 'node:timers';
import {registerCompletionHandler} from 'ava';
import {sourcePlace} from './test-places.mjs';

/** How long the check waits for resources that are being closed, in ms. */
const graceMs = 2000;
const stepMs = 20;

/** The number of frames that are recorded of the place that makes a resource. */
const frames = 40;

/**
 * What is alive: a resource, whether it still is, and the place that made it. Closed ones are dropped as the list
 * doubles.
 */
let made = [];
let dropAt = 1024;

/** Records a resource. Its stack is formatted only if it is reported. */
const keep = (kind, resource, isOpen, place) => {
  if (made.length >= dropAt) {
    made = made.filter(each => each.isOpen(each.resource));
    dropAt = Math.max(1024, 2 * made.length);
  }
  made.push({kind, resource, isOpen, place: place ?? stackHere()});
};

const stackHere = () => {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = frames;
  const place = new Error();
  Error.stackTraceLimit = limit;
  return place;
};

/** Replaces `object[name]` by `replacement(original)`, which keeps the original's properties. */
const replace = (object, name, replacement) => {
  const original = object[name];
  object[name] = Object.defineProperties(replacement(original), Object.getOwnPropertyDescriptors(original));
};

const setTimer = timers.setTimeout;
const isPending = timer => !timer._destroyed;
for (const name of ['setTimeout', 'setInterval']) {
  replace(timers, name, original => (...args) => {
    const timer = original(...args);
    keep('timer', timer, isPending);
    return timer;
  });
  globalThis[name] = timers[name];
}

replace(
  net.Server.prototype,
  'listen',
  original =>
    function (...args) {
      keep('server', this, server => server.listening);
      return original.apply(this, args);
    },
);

for (const name of ['watch', 'watchFile'])
  replace(fs, name, original => (...args) => {
    const watcher = original(...args);
    let open = true;
    watcher.once?.('close', () => (open = false));
    watcher.once?.('stop', () => (open = false));
    keep('file watcher', watcher, () => open);
    return watcher;
  });
syncBuiltinESMExports();

const isConnected = socket => !socket.destroyed && !socket.isStandardStream;
subscribe('net.client.socket', ({socket}) => keep('socket', socket, isConnected));
subscribe('net.server.socket', ({socket}) => keep('accepted socket', socket, isConnected));
subscribe('child_process', ({process: child}) =>
  keep('child process', child, ({pid, exitCode, signalCode}) => pid !== undefined && exitCode === null && signalCode === null),
);
subscribe('worker_threads', ({worker}) => keep('worker', worker, ({threadId}) => threadId !== -1));

/** Returns the place of a frame in the sources of this repository, or undefined for others. */
const located = frame => {
  const [, path, line, column] = /\(?(?:file:\/\/)?(\/[^\s():]+):(\d+):(\d+)\)?$/.exec(frame) ?? [];
  const name = path && relative(process.cwd(), path);
  return name && !/^(\.\.|tools\/|node_modules\/)/.test(name) ? sourcePlace(name, line, column) : undefined;
};

const placesOf = ({stack}) => [...new Set(stack.split('\n').slice(1).map(located).filter(Boolean))];

const described = ({kind, resource}) => {
  if (kind === 'timer') return `${resource._repeat === null ? 'a timer' : 'an interval'} of ${resource._idleTimeout} ms`;
  if (kind === 'server') return `a server at ${JSON.stringify(resource.address())}`;
  if (kind === 'child process') return `the child process ${resource.pid}: ${resource.spawnargs?.join(' ')}`;
  if (kind.endsWith('socket')) return `${kind} ${resource.localPort ?? ''} to ${resource.remotePort ?? ''}`;
  return kind;
};

const isAlive = each => each.isOpen(each.resource);

const counted = names => {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
};
const atStart = counted(process.getActiveResourcesInfo());

/**
 * Lists what keeps the process alive and was not there at the start, as far as it is not recorded above: a timer made
 * by Node.js itself, a file being read.
 */
const others = () =>
  [...counted(process.getActiveResourcesInfo())]
    .filter(([name, count]) => count > (atStart.get(name) ?? 0))
    .map(([name, count]) => `  ${count - (atStart.get(name) ?? 0)} of ${name}\n`);

const report = () => {
  const recorded = made.filter(isAlive).map(each => {
    const places = placesOf(each.place).map(place => `      ${place}\n`);
    return `  ${described(each)}\n${places.join('')}`;
  });
  return [...recorded, ...(recorded.length === 0 ? others() : [])].join('');
};

/** Calls `done` when nothing is left, or at the end of the grace period. */
const settle = (waitedMs, done) => {
  if ((made.some(isAlive) || others().length > 0) && waitedMs < graceMs)
    setTimer(() => setImmediate(settle, waitedMs + stepMs, done), stepMs);
  else done();
};

registerCompletionHandler(() =>
  settle(0, () => {
    const left = report();
    if (!left) return;
    process.stderr.write(`\nleft open after the last test:\n${left}\n`, () => process.exit(1));
  }),
);
