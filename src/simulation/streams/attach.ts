import type {RunCommand} from '#src/api/agent.js';
import {sleep} from '#src/base/clock.js';
import type {CommandIo} from '#src/simulation/exec/context.js';
import {commandIo} from '#src/simulation/exec/io.js';
import {lineReader} from '#src/simulation/exec/lines.js';
import {runShell} from '#src/simulation/exec/shell.js';
import {readLog} from '#src/simulation/log/reader.js';
import {logSource} from '#src/simulation/log/source.js';
import {writeLine} from '#src/simulation/log/written.js';
import {simulatedLog} from '#src/simulation/rules/rules.js';
import {contextIn, goingOn, whileRunning, type StreamWorld} from './command.js';
import {listening, valueIn, type Place, type PodsKept} from './place.js';

/** Gives what a container writes from now on, each stream for itself. */
const follow = async (world: StreamWorld, place: Place, io: CommandIo, signal: AbortSignal): Promise<number> => {
  const {record, own} = place;
  const run = goingOn(place);
  const source = logSource(record, own, false, {entries: run.entries, valueOf: valueIn(place, world.naming)});
  // Where nothing will ever be written the only line is given again: it says so.
  const tailLines = run.entries === simulatedLog ? 1 : 0;
  const copied = async (stream: 'Stdout' | 'Stderr') => {
    const query = {follow: true, previous: false, timestamps: false, stream, tailLines};
    const text = readLog({source, query, clock: world.clock, signal, onChange: listener => listening(record, listener)});
    for await (const piece of text) await (stream === 'Stdout' ? io.out(piece) : io.err(piece));
  };
  await Promise.all([copied('Stdout'), copied('Stderr')]);
  return 0;
};

/** Says again what is typed, as a program does that copies its input to its output; what it says is in the log. */
const echo = async ({clock}: StreamWorld, {record, own}: Place, io: CommandIo, changed: () => void): Promise<void> => {
  for await (const line of lineReader(io)) {
    writeLine(record, own, line, clock.now());
    changed();
  }
};

/** A shell that reads what is typed; what it answers is in the log too. */
const shell = async (world: StreamWorld, pods: PodsKept, place: Place, io: CommandIo, signal: AbortSignal): Promise<number> => {
  let begun = '';
  const noted = (write: CommandIo['out']) => async (content: string | Buffer) => {
    const lines = (begun + content.toString()).split('\n');
    begun = lines.pop()!.slice(-4096);
    for (const line of lines) writeLine(place.record, place.own, line, world.clock.now());
    await write(content);
  };
  return runShell({...io, out: noted(io.out), err: noted(content => io.err(content.toString()))}, contextIn(world, pods, place, signal));
};

/** How long what was written last has to be read before a container that its caller ended is gone. */
const farewellMs = 10;

/** What a container runs, for callers to listen to and to talk to. Throws the refusal of an agent where it does not run. */
export const attachTo = (world: StreamWorld, pods: PodsKept, place: Place): RunCommand => {
  goingOn(place);
  const {record, of, own} = place;
  const {stdin: reads} = pods.behaviors.of(record.pod, of);
  const {stdin: isOpen = false, stdinOnce = false, tty = false} = of.container as {stdin?: boolean; stdinOnce?: boolean; tty?: boolean};
  return async (streams, leaving) => {
    const io = commandIo({...streams, tty: streams.tty && tty, stdin: isOpen && reads ? streams.stdin : undefined});
    if (!io.stdin) streams.stdin?.resume();
    const code = await whileRunning(place, leaving, async signal => {
      if (!io.stdin || !reads) return follow(world, place, io, signal);
      if (reads === 'shell') {
        const exitCode = await shell(world, pods, place, io, signal);
        pods.end(record, own.name, exitCode);
        return exitCode;
      }
      const following = follow(world, place, io, signal);
      await echo(world, place, io, () => pods.changed(record));
      if (!stdinOnce) return following;
      await sleep(world.clock, farewellMs, signal);
      pods.end(record, own.name, 0);
      return 0;
    });
    // With its only caller the input of such a container is over.
    if (leaving.aborted && reads && stdinOnce) pods.end(record, own.name, 0);
    // How the container ends is told by its status, not by those who listened.
    return leaving.aborted ? code : 0;
  };
};
