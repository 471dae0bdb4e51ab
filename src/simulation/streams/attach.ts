import type {RunCommand} from '#src/api/node/agent.js';
import {sleep} from '#src/base/clock.js';
import type {CommandIo} from '#src/simulation/exec/context.js';
import {commandIo} from '#src/simulation/exec/io.js';
import {lineReader} from '#src/simulation/exec/lines.js';
import {runShell} from '#src/simulation/exec/shell.js';
import {readLog} from '#src/simulation/log/reader.js';
import {logSource} from '#src/simulation/log/source.js';
import {writeLine} from '#src/simulation/log/write-line.js';
import {simulatedLog} from '#src/simulation/rules/rules.js';
import {commandContextFor, currentRun, whileRunning, type StreamContext} from './command.js';
import {onPodChange, valueIn, type ContainerTarget, type PodRecords} from './target.js';

/** Streams the output of a container from now on. */
const follow = async (context: StreamContext, target: ContainerTarget, io: CommandIo, signal: AbortSignal): Promise<number> => {
  const {record, own} = target;
  const run = currentRun(target);
  const source = logSource(record, own, false, {entries: run.entries, valueOf: valueIn(target, context.naming)});
  // A container without log settings repeats its only line, which explains that it is simulated.
  const tailLines = run.entries === simulatedLog ? 1 : 0;
  const copyStream = async (stream: 'Stdout' | 'Stderr') => {
    const query = {follow: true, previous: false, timestamps: false, stream, tailLines};
    const text = readLog({
      source,
      query,
      clock: context.clock,
      timeline: context.timeline,
      signal,
      onChange: listener => onPodChange(record, listener),
    });
    for await (const piece of text) await (stream === 'Stdout' ? io.out(piece) : io.err(piece));
  };
  await Promise.all([copyStream('Stdout'), copyStream('Stderr')]);
  return 0;
};

/** Echoes input lines into the log. */
const echo = async ({timeline}: StreamContext, {record, own}: ContainerTarget, io: CommandIo, changed: () => void): Promise<void> => {
  for await (const line of lineReader(io)) {
    writeLine(record, own, line, timeline.now());
    changed();
  }
};

/** Runs a shell on the input; its output is in the log too. */
const shell = async (
  context: StreamContext,
  pods: PodRecords,
  target: ContainerTarget,
  io: CommandIo,
  signal: AbortSignal,
): Promise<number> => {
  let partialLine = '';
  const logged = (write: CommandIo['out']) => async (content: string | Buffer) => {
    const lines = (partialLine + content.toString()).split('\n');
    partialLine = lines.pop()!.slice(-4096);
    for (const line of lines) writeLine(target.record, target.own, line, context.timeline.now());
    await write(content);
  };
  return runShell(
    {...io, out: logged(io.out), err: logged(content => io.err(content.toString()))},
    commandContextFor(context, pods, target, signal),
  );
};

/** How long an exit caused by a client is delayed, so that the last output can be read. */
const drainMs = 10;

/** Attaches to a running container. Throws an agent error where it does not run. */
export const attachTo = (context: StreamContext, pods: PodRecords, target: ContainerTarget): RunCommand => {
  currentRun(target);
  const {record, of, own} = target;
  const {stdin: reads} = pods.behaviors.of(record.pod, of);
  const {stdin: isOpen = false, stdinOnce = false, tty = false} = of.container as {stdin?: boolean; stdinOnce?: boolean; tty?: boolean};
  return async (streams, disconnected) => {
    const io = commandIo({...streams, tty: streams.tty && tty, stdin: isOpen && reads ? streams.stdin : undefined});
    if (!io.stdin) streams.stdin?.resume();
    const code = await whileRunning(target, disconnected, async signal => {
      if (!io.stdin || !reads) return follow(context, target, io, signal);
      if (reads === 'shell') {
        const exitCode = await shell(context, pods, target, io, signal);
        pods.end(record, own.name, exitCode);
        return exitCode;
      }
      const following = follow(context, target, io, signal);
      await echo(context, target, io, () => pods.notifyChanged(record));
      if (!stdinOnce) return following;
      await sleep(context.clock, drainMs, signal);
      pods.end(record, own.name, 0);
      return 0;
    });
    // A container with `stdinOnce` ends when its only client disconnects.
    if (disconnected.aborted && reads && stdinOnce) pods.end(record, own.name, 0);
    // The container's end is reported by its status, not by the stream.
    return disconnected.aborted ? code : 0;
  };
};
