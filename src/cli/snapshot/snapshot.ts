// `plat snapshot`: saves, verifies, restores and copies the data of a store, whatever its backend. A file appears only
// once it is complete; a restored store is compared with the snapshot before success is reported.

import {randomBytes} from 'node:crypto';
import {constants, createReadStream, createWriteStream} from 'node:fs';
import {mkdtemp, open, rename, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {basename, dirname, join} from 'node:path';
import type {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import {systemClock} from '#src/base/clock.js';
import type {snapshotFlags} from '#src/options/programs/snapshot.js';
import {
  ContentHash,
  SnapshotDamaged,
  SnapshotReader,
  writeSnapshot,
  type SnapshotHeader,
  type SnapshotSummary,
} from '#src/storage/snapshot/format.js';
import type {ValueUnreadable} from '#src/storage/errors.js';
import type {Invocation} from '#src/program/program.js';
import {subcommandOf} from '#src/cli/program/subcommand.js';
import {canonicalValue} from './canonical.js';
import {namesPlace, placeOf, planeStore, targetOf, type Place} from './places.js';

type SnapshotInvocation = Invocation<(typeof snapshotFlags)['rows']>;
type Command = (invocation: SnapshotInvocation, args: readonly string[]) => Promise<number>;

/** `plat snapshot`: saves, verifies and restores the data of a store. */
export const runSnapshot = async (invocation: SnapshotInvocation): Promise<number> => {
  const [command, ...args] = invocation.parsed.args;
  const run = subcommandOf(commands, command);
  const {options} = invocation.parsed;
  const namesTarget = (['toDataDir', 'toStoreDir', 'toKvstoreServers'] as const).some(name => options[name].length > 0);
  if (namesTarget && run !== copy) throw new Error('--to-data-dir, --to-store-dir and --to-kvstore-servers are flags of copy');
  return run(invocation, args);
};

const oneFile = (command: string, args: readonly string[]): string => {
  const [file, more] = args;
  if (file === undefined) throw new Error(`${command} needs the name of a file, or -`);
  if (more !== undefined) throw new Error(`unexpected argument ${JSON.stringify(more)}`);
  return file;
};

const inputOf = (file: string): Readable => (file === '-' ? process.stdin : createReadStream(file));

/** Names the file in errors about its content. */
const about = async <T>(file: string, act: () => Promise<T>): Promise<T> => {
  try {
    return await act();
  } catch (error) {
    if (error instanceof SnapshotDamaged)
      throw new Error(`${file === '-' ? 'the snapshot' : file} cannot be used: ${error.message}`, {cause: error});
    throw error;
  }
};

/** Writes a snapshot of a store to a file that only its owner may read, which appears once it is complete. */
const saveTo = async (place: Place, file: string, version: string): Promise<{header: SnapshotHeader; summary: SnapshotSummary}> => {
  await using view = await place.view();
  const {naming, revision} = view;
  const header = {naming, revision, taken: new Date(systemClock.now()).toISOString(), version};
  if (file === '-') return {header, summary: await writeSnapshot(header, view.records(), {out: process.stdout, canonical: canonicalValue})};
  const temporary = join(dirname(file), `.${basename(file)}.${randomBytes(8).toString('hex')}`);
  const handle = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    const summary = await writeSnapshot(header, view.records(), {
      out: createWriteStream('', {fd: handle, flush: true}),
      canonical: canonicalValue,
    });
    await rename(temporary, file);
    return {header, summary};
  } catch (error) {
    await rm(temporary, {force: true});
    throw error;
  }
};

/** Reads a whole snapshot. Rejects unless it is undamaged. */
const verified = (file: string): Promise<{header: SnapshotHeader; summary: SnapshotSummary}> =>
  about(file, async () => {
    const reader = await SnapshotReader.open(inputOf(file), canonicalValue);
    for await (const _ of reader.records());
    return {header: reader.header, summary: reader.summary};
  });

/** Calls `act` with a verified file: what comes from standard input is kept in a temporary one meanwhile. */
const withVerified = async <T>(file: string, act: (path: string, header: SnapshotHeader) => Promise<T>): Promise<T> => {
  if (file !== '-') return act(file, (await verified(file)).header);
  const folder = await mkdtemp(join(tmpdir(), 'plat-snapshot-'));
  try {
    const path = join(folder, 'snapshot');
    await pipeline(process.stdin, createWriteStream(path, {mode: 0o600}));
    return await act(path, (await verified(path)).header);
  } finally {
    await rm(folder, {recursive: true, force: true});
  }
};

/** Fills a store from a verified file, and compares what it holds then. */
const restoreInto = async (place: Place, path: string): Promise<SnapshotSummary> => {
  const reader = await SnapshotReader.open(createReadStream(path), canonicalValue);
  const written = await place.restore(reader);
  await using view = await place.view();
  const found = new ContentHash(canonicalValue);
  for await (const record of view.records()) found.add(record);
  const content = found.digest();
  if (content !== (written?.content ?? reader.summary.content))
    throw new Error(`${place.text} holds other data than the snapshot after it was restored: do not use it`);
  return {...reader.summary, keys: found.keys, content};
};

/**
 * Makes the store of a new plane from a file. Throws an error of one line if there is one already, or if the snapshot
 * is of another naming.
 */
export const restorePlane = (file: string, dataDir: string, naming: string): Promise<SnapshotSummary> =>
  withVerified(file, async (path, header) => {
    if (header.naming !== naming) throw new Error(`${file} was saved with --naming=${header.naming}, not ${naming}`);
    return restoreInto(planeStore(dataDir), path);
  });

const tableOf = ({naming, revision, taken}: SnapshotHeader, {hash, content, keys, bytes}: SnapshotSummary): string[] => {
  const cells = [
    ['HASH', hash.slice(0, 16)],
    ['CONTENT', content.slice(0, 16)],
    ['REVISION', String(revision)],
    ['KEYS', String(keys)],
    ['BYTES', String(bytes)],
    ['NAMING', naming],
    ['TAKEN', taken],
  ] as const;
  const widths = cells.map(([title, value]) => Math.max(title.length, value.length));
  return [0, 1].map(row =>
    cells
      .map((cell, index) => cell[row]!.padEnd(widths[index]!))
      .join('   ')
      .trimEnd(),
  );
};

const show = ({parsed: {options}, print}: SnapshotInvocation, header: SnapshotHeader, summary: SnapshotSummary): void => {
  if (options.output === 'json') print(JSON.stringify({...header, ...summary}, undefined, 2));
  else for (const line of tableOf(header, summary)) print(line);
};

/** Messages go to standard error where the snapshot goes to standard output. */
const reporter = (print: (line: string) => void, file: string): ((line: string) => void) =>
  file === '-' ? line => void process.stderr.write(`${line}\n`) : print;

const save: Command = async ({parsed: {options}, print, version}, args) => {
  const file = oneFile('save', args);
  const place = placeOf(options);
  const {header, summary} = await saveTo(place, file, version.gitVersion);
  const target = file === '-' ? 'standard output' : file;
  reporter(print, file)(`saved ${summary.keys} keys of ${place.text} at revision ${header.revision} to ${target}`);
  return 0;
};

const restore: Command = async ({parsed: {options}, print}, args) => {
  const file = oneFile('restore', args);
  const place = placeOf(options);
  const {keys, content} = await withVerified(file, path => restoreInto(place, path));
  print(`restored ${keys} keys to ${place.text}, content ${content.slice(0, 16)}`);
  return 0;
};

const status: Command = async (invocation, args) => {
  const {header, summary} = await verified(oneFile('status', args));
  show(invocation, header, summary);
  return 0;
};

const verify: Command = async (invocation, args) => {
  const {options} = invocation.parsed;
  if (args.length > 0 || !namesPlace(options)) {
    if (namesPlace(options)) throw new Error('verify needs a file or a store, not both');
    return status(invocation, args);
  }
  const place = placeOf(options);
  await using view = await place.view();
  const found = new ContentHash(canonicalValue);
  const damaged: ValueUnreadable[] = [];
  for await (const record of view.records(error => damaged.push(error))) found.add(record);
  const {naming, revision} = view;
  const {keys, bytes} = found;
  const content = found.digest();
  const {print, version} = invocation;
  if (damaged.length > 0) {
    for (const {message} of damaged) print(`${place.text}: ${message}`);
    throw new Error(`${place.text}: ${damaged.length} of ${keys + damaged.length} records are damaged`);
  }
  if (options.output === 'json') print(JSON.stringify({naming, revision, version: version.gitVersion, keys, bytes, content}, undefined, 2));
  else print(`${place.text}: ${keys} keys at revision ${revision}, content ${content.slice(0, 16)}`);
  return 0;
};

const copy: Command = async ({parsed: {options}, print, version}, args) => {
  if (args.length > 0) throw new Error(`unexpected argument ${JSON.stringify(args[0])}`);
  const [from, to] = [placeOf(options), targetOf(options)];
  const folder = await mkdtemp(join(tmpdir(), 'plat-snapshot-'));
  try {
    const path = join(folder, 'snapshot');
    const {header} = await saveTo(from, path, version.gitVersion);
    const {keys, content} = await restoreInto(to, path);
    print(`copied ${keys} keys of ${from.text} at revision ${header.revision} to ${to.text}, content ${content.slice(0, 16)}`);
    return 0;
  } finally {
    await rm(folder, {recursive: true, force: true});
  }
};

const commands: Readonly<Record<string, Command>> = {save, restore, status, verify, copy};
