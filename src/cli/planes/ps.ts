import {humanDuration} from '#src/api/duration.js';
import {wireTime} from '#src/api/time.js';
import type {psFlags} from '#src/options/programs/planes.js';
import type {Invocation} from '#src/program/program.js';
import {columns} from '#src/cli/program/table.js';
import {residentBytes} from './process.js';
import type {ListedPlane} from './record.js';
import {PlaneRegistry} from './registry.js';

/** The state of a plane in words. */
export const stateOf = ({record, isRunning}: ListedPlane): 'running' | 'starting' | 'stopped' => {
  if (!isRunning) return 'stopped';
  return record.state === 'ready' ? 'running' : 'starting';
};

/** A plane as `-o json` shows it. */
export const planeObject = (plane: ListedPlane) => {
  const {record, isRunning} = plane;
  const memory = isRunning ? residentBytes(record.pid) : undefined;
  return {
    name: record.name,
    state: stateOf(plane),
    address: record.address,
    since: wireTime(record.since),
    nodes: record.nodes,
    ...(isRunning ? {pid: record.pid} : {}),
    ...(memory === undefined ? {} : {memoryBytes: memory}),
    naming: record.naming,
    version: record.version,
    dataDir: record.dataDir,
    kubeconfig: record.kubeconfig,
    ...(record.logFile ? {logFile: record.logFile} : {}),
  };
};

const cellsOf = (plane: ListedPlane, now: number): readonly string[] => {
  const {record, isRunning} = plane;
  const {name, state, address, nodes, memoryBytes, naming} = planeObject(plane);
  return [
    name,
    state,
    isRunning && address ? address : '-',
    isRunning ? humanDuration(now - record.since) : '-',
    String(nodes),
    memoryBytes === undefined ? '-' : `${Math.round(memoryBytes / (1 << 20))} MB`,
    naming,
  ];
};

const header = ['NAME', 'STATE', 'ADDRESS', 'AGE', 'NODES', 'MEMORY', 'NAMING'];

/** `plat ps`: lists planes. */
export const runPs = async ({parsed: {options}, print, clock}: Invocation<(typeof psFlags)['rows']>): Promise<void> => {
  const planes = new PlaneRegistry().list().filter(({isRunning}) => isRunning || options.all);
  if (options.output === 'json') return print(JSON.stringify({planes: planes.map(planeObject)}, undefined, 2));
  const rows = planes.map(plane => cellsOf(plane, clock.now()));
  for (const line of columns(header, rows)) print(line);
};
