import {randomUUID} from 'node:crypto';
import {rmSync} from 'node:fs';
import {sleep} from '#src/base/clock.js';
import {passingFiles} from '#src/base/files/files.js';
import type {nodesFlags} from '#src/options/programs/nodes.js';
import type {Invocation} from '#src/program/program.js';
import {readOwn} from '#src/cli/planes/own-file.js';
import {defaultName, type PlaneRecord} from '#src/cli/planes/record.js';
import {isRunning, PlaneRegistry} from '#src/cli/planes/registry.js';
import {scaleFiles, scaleSignal, type ScaleAnswer} from '#src/cli/up/scaling.js';

type NodesInvocation = Invocation<(typeof nodesFlags)['rows']>;

/** How often is looked for an answer, and for how long. */
const [periodMs, timeoutMs] = [25, 120_000];

const answerIn = (file: string, id: string): ScaleAnswer | undefined => {
  try {
    const answer = JSON.parse(readOwn(file) ?? '') as ScaleAnswer;
    return answer.id === id ? answer : undefined;
  } catch {
    return undefined;
  }
};

/** Asks a plane for a number of nodes and waits for its answer. */
const ask = async (plane: PlaneRecord, nodes: number, {clock, stopping}: NodesInvocation): Promise<ScaleAnswer> => {
  const files = scaleFiles(plane.dataDir);
  const id = randomUUID();
  const deadline = clock.monotonic() + timeoutMs;
  await passingFiles.write(files.request, JSON.stringify({id, nodes}), 0o600);
  process.kill(plane.pid, scaleSignal);
  try {
    while (clock.monotonic() < deadline) {
      const answer = answerIn(files.answer, id);
      if (answer) return answer;
      if (!isRunning(plane)) throw new Error(`the plane ${plane.name} has ended`);
      await sleep(clock, periodMs, stopping);
    }
    throw new Error(`the plane ${plane.name} has not answered after ${timeoutMs / 1000} s`);
  } finally {
    for (const file of [files.request, files.answer]) rmSync(file, {force: true});
  }
};

/** `plat nodes scale N`: changes the number of simulated nodes of a plane that runs. */
export const runScale = async (invocation: NodesInvocation): Promise<void> => {
  const {
    parsed: {options, args},
    print,
  } = invocation;
  const [command, count = '', another] = args;
  if (command !== 'scale') throw new Error(`the first argument must be scale, not ${JSON.stringify(command)}`);
  if (another !== undefined) throw new Error(`unexpected argument ${JSON.stringify(another)}`);
  if (!/^\d{1,5}$/.test(count)) throw new Error('give the number of nodes: plat nodes scale N');
  const name = options.name || defaultName;
  const plane = new PlaneRegistry().get(name);
  if (!plane.isRunning) throw new Error(`the plane ${name} does not run`);
  if (plane.record.state !== 'ready') throw new Error(`the plane ${name} is starting: try again when it is ready`);
  const {error} = await ask(plane.record, Number(count), invocation);
  if (error !== undefined) throw new Error(error);
  print(`${name} has ${count} simulated ${Number(count) === 1 ? 'node' : 'nodes'}`);
};
