import {lstatSync, readdirSync, rmdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {createInterface} from 'node:readline/promises';
import {removeFromKubeconfig} from '#src/plane/kubeconfig/file.js';
import {OptionError} from '#src/options/option-error.js';
import type {deleteFlags} from '#src/options/programs/planes.js';
import type {Invocation} from '#src/program/program.js';
import type {PlaneRecord} from './record.js';
import {isRunning, PlaneRegistry} from './registry.js';
import {stopPlane} from './stop.js';

type DeleteInvocation = Invocation<(typeof deleteFlags)['rows']>;

/** How long a plane is waited for that is stopped first. */
const stopTimeoutMs = 60_000;

/** What a plane writes to its data directory. Everything else there belongs to the user, and stays. */
const ownEntries = [
  'pki',
  'store',
  'kubeconfig',
  'kubeconfig.lock',
  'cloud.json',
  'agent',
  'scale.request',
  'scale.answer',
  'plat.log',
  'plat.log.1',
];

/** Removes what a plane wrote to its data directory, and the directory if nothing else is in it. Returns what stays. */
export const removeData = (dataDir: string): readonly string[] => {
  const found = lstatSync(dataDir, {throwIfNoEntry: false});
  if (!found?.isDirectory()) return []; // A link is not followed.
  const entries = readdirSync(dataDir);
  if (entries.length > 0 && !entries.includes('pki') && !entries.includes('store')) return entries; // No plane's directory.
  for (const entry of ownEntries) rmSync(join(dataDir, entry), {recursive: true, force: true});
  const left = readdirSync(dataDir);
  if (left.length === 0) rmdirSync(dataDir);
  return left;
};

/** `plat delete`: deletes a plane. */
export const runDelete = async (invocation: DeleteInvocation): Promise<number> => {
  const {
    parsed: {options, args},
    print,
    log,
    clock,
  } = invocation;
  const [name, another] = args;
  if (name === undefined || another !== undefined) throw new Error('give the name of one plane');
  const registry = new PlaneRegistry();
  const {record} = registry.get(name);
  if (isRunning(record) && !options.force) throw new Error(`the plane ${name} runs: stop it first, or give --force`);
  if (!(await isConfirmed(invocation, record))) {
    print('nothing was deleted');
    return 1;
  }
  await stopPlane(record, stopTimeoutMs, clock);
  await removeFromKubeconfig(record.kubeconfig, record.dataDir, log).catch((error: unknown) =>
    log.warn({err: error}, 'the context of the plane stays in the kubeconfig file'),
  );
  const left = removeData(record.dataDir);
  registry.remove(name);
  print(`deleted the plane ${name}`);
  if (left.length > 0) print(`${record.dataDir} stays, with what no plane writes: ${left.slice(0, 10).join(', ')}`);
  return 0;
};

const isConfirmed = async ({parsed: {options, args}, stopping}: DeleteInvocation, {dataDir}: PlaneRecord): Promise<boolean> => {
  if (options.yes) return true;
  if (!process.stdin.isTTY) throw new OptionError('there is no terminal to ask on: give --yes to delete the plane with its data');
  const terminal = createInterface({input: process.stdin, output: process.stderr});
  try {
    const answer = await terminal.question(`Delete the plane ${args[0]} with all data in ${dataDir}? [y/N] `, {signal: stopping});
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
};
