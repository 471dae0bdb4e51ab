import {posix} from 'node:path';
import {AgentError, type RunCommand} from '#src/api/agent.js';
import {surroundings} from '#src/simulation/command/said.js';
import type {CommandContext, CommandIo} from '#src/simulation/exec/context.js';
import {commandIo} from '#src/simulation/exec/io.js';
import {runCommand} from '#src/simulation/exec/shell.js';
import {Files} from '#src/simulation/files/files.js';
import {filled} from '#src/simulation/pod/environment.js';
import type {KeptRun} from '#src/simulation/pod/record.js';
import type {SimulationWorld} from '#src/simulation/world.js';
import {valueIn, type Place, type PodsKept} from './place.js';

/** The code of what is killed. */
const killedCode = 137;

export type StreamWorld = Pick<SimulationWorld, 'naming' | 'clock' | 'fileBudget'>;

/** The run of a container that goes on. Throws the refusal of an agent where none does. */
export const goingOn = ({record, own}: Place): KeptRun => {
  const run = own.state.is === 'running' ? record.runs.get(own.id ?? '') : undefined;
  if (!run) throw new AgentError(500, `container not found (${JSON.stringify(own.name)})`);
  return run;
};

const filesOf = (run: KeptRun, {of: {container}}: Place, given: readonly (readonly [path: string, text: string])[], {clock, fileBudget}: StreamWorld): Files => {
  if (run.files) return run.files;
  const files = new Files(fileBudget, [container.workingDir ?? '/', ...(container.volumeMounts ?? []).map(({mountPath}) => mountPath)]);
  for (const [path, text] of given) files.put(posix.normalize(path), {content: Buffer.from(text), mode: 0o644, modifiedAt: clock.now()});
  return (run.files = files);
};

/** What commands in a container have to work with. */
export const contextIn = (world: StreamWorld, {behaviors}: Pick<PodsKept, 'behaviors'>, place: Place, signal: AbortSignal): CommandContext => {
  const {record, of} = place;
  const {exec: rules = [], files = {}} = behaviors.of(record.pod, of);
  const valueOf = valueIn(place, world.naming);
  return {
    clock: world.clock,
    signal,
    rules,
    files: filesOf(goingOn(place), place, Object.entries(files).map(([path, text]) => [path, filled(text, valueOf)]), world),
    workingDirectory: of.container.workingDir ?? '/',
    around: surroundings(record.pod, of.container),
    filled: text => filled(text, valueOf),
    name: `container ${of.container.name} of pod ${record.key}`,
  };
};

/** Does something for as long as the run goes on and somebody listens. Resolves with the code of what is killed where the run ended. */
export const whileRunning = async (place: Place, leaving: AbortSignal, act: (signal: AbortSignal) => Promise<number>): Promise<number> => {
  const {record, own} = place;
  const run = goingOn(place);
  const ending = new AbortController();
  const look = () => {
    const goesOn = record.forgottenAt === undefined && own.state.is === 'running' && record.runs.get(own.id ?? '') === run;
    if (!goesOn) ending.abort();
  };
  const leave = () => ending.abort();
  record.listeners.add(look);
  leaving.addEventListener('abort', leave, {once: true});
  if (leaving.aborted) leave();
  try {
    return await Promise.race([act(ending.signal), killed(ending.signal)]);
  } catch (error) {
    if (ending.signal.aborted) return killedCode;
    throw error;
  } finally {
    record.listeners.delete(look);
    leaving.removeEventListener('abort', leave);
    ending.abort();
  }
};

const killed = (signal: AbortSignal): Promise<number> =>
  new Promise(resolve => {
    signal.addEventListener('abort', () => resolve(killedCode), {once: true});
    if (signal.aborted) resolve(killedCode);
  });

/** A command that is executed in a container. Throws the refusal of an agent where the container does not run. */
export const execIn = (world: StreamWorld, pods: Pick<PodsKept, 'behaviors'>, place: Place, command: readonly string[]): RunCommand => {
  goingOn(place);
  return (streams, leaving) =>
    whileRunning(place, leaving, signal => {
      const io: CommandIo = commandIo(streams);
      return runCommand(command, io, contextIn(world, pods, place, signal));
    });
};
