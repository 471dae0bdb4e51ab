import {humanDuration} from '#src/api/duration.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import type {statusFlags} from '#src/options/programs/planes.js';
import type {Invocation} from '#src/program/program.js';
import {healthOf, type PlaneHealth} from './health.js';
import {planeObject, stateOf} from './ps.js';
import {reachPlane} from './reach.js';
import {onlyName, type ListedPlane, type PlaneRecord} from './record.js';
import {PlaneRegistry} from './registry.js';

/** The nodes that are asked for, which are all that a plane can simulate. */
const maxNodes = 10_000;

const unreachable = (problem: string): PlaneHealth => ({checks: [], nodes: {ready: 0, all: 0}, problems: [problem]});

/** Asks a plane for its health. */
export const askHealth = async (record: PlaneRecord): Promise<PlaneHealth> => {
  try {
    await using plane = await reachPlane(record);
    const [ready, nodes] = await Promise.all([plane.get('/readyz?verbose'), plane.get(`/api/v1/nodes?limit=${maxNodes}`)]);
    const {items = []} = JSON.parse(nodes.text) as {items?: readonly Node[]};
    return healthOf(ready, items);
  } catch (error) {
    return unreachable(`it does not answer at ${record.address}: ${messageOf(error)}`);
  }
};

const healthOfPlane = async (plane: ListedPlane): Promise<PlaneHealth> => {
  const {record} = plane;
  const state = stateOf(plane);
  if (state === 'stopped') return unreachable(plane.hasData ? 'it is stopped' : `it is stopped, and its data in ${record.dataDir} is gone`);
  return state === 'starting' ? unreachable('it is starting') : askHealth(record);
};

const linesOf = (plane: ListedPlane, {checks, nodes, problems}: PlaneHealth, clock: Clock): readonly string[] => {
  const {record} = plane;
  const failed = checks.filter(({isOk}) => !isOk).length;
  const since = plane.isRunning ? ` since ${humanDuration(clock.now() - record.since)}, process ${record.pid}` : '';
  return [
    `${record.name}: ${stateOf(plane)}${since}`,
    `  address      ${record.address || '-'}`,
    `  naming       ${record.naming}`,
    `  version      ${record.version}`,
    `  data         ${record.dataDir}`,
    `  kubeconfig   ${record.kubeconfig}`,
    `  log          ${record.logFile || 'the terminal it was started in'}`,
    ...(checks.length > 0
      ? [`  checks       ${checks.length - failed} of ${checks.length} pass`, `  nodes        ${nodes.ready} of ${nodes.all} ready`]
      : []),
    ...problems.map(problem => `  wrong        ${problem}`),
  ];
};

/** `plat status`: reports the health of a plane. Returns 1 if something is wrong. */
export const runStatus = async ({parsed: {options, args}, print, clock}: Invocation<(typeof statusFlags)['rows']>): Promise<number> => {
  const name = onlyName(args);
  const plane = new PlaneRegistry().get(name);
  const health = await healthOfPlane(plane);
  if (options.output === 'json') print(JSON.stringify({...planeObject(plane), ...health, nodes: health.nodes}, undefined, 2));
  else for (const line of linesOf(plane, health, clock)) print(line);
  return health.problems.length > 0 ? 1 : 0;
};
