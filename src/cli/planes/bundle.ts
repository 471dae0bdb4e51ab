// What an archive for a report of an error holds, as files with bounded sizes.

import {existsSync} from 'node:fs';
import {release as systemRelease, arch, cpus, totalmem} from 'node:os';
import {messageOf} from '#src/base/message.js';
import {olderLogFile} from '#src/program/log-file.js';
import {lastLines} from './log-text.js';
import {commandLine} from './process.js';
import {planeObject} from './ps.js';
import {reachPlane, type PlaneConnection} from './reach.js';
import {redactArgument, redactObject, redactText} from './redact.js';
import type {ListedPlane} from './record.js';

/** A file of the archive. */
export interface BundleFile {
  readonly path: string;
  readonly text: string;
}

/** The limits of a bundle: lines of the log, objects of a kind, characters of a file, and of all files of objects. */
const [maxLogLines, maxObjects, maxFileLength, maxObjectsLength] = [20_000, 500, 8 << 20, 64 << 20];

const bounded = (text: string): string =>
  text.length > maxFileLength ? `${text.slice(0, maxFileLength)}\n(cut off after ${maxFileLength} characters)\n` : text;

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

const machine = () => ({
  platform: process.platform,
  release: systemRelease(),
  architecture: arch(),
  processors: cpus().length,
  memoryBytes: totalmem(),
  node: process.versions.node,
});

/** Returns the files of a bundle, without secrets. A plane that does not answer has those that need no answer. */
export const bundleFiles = async (plane: ListedPlane, version: string): Promise<readonly BundleFile[]> => {
  const {record, isRunning} = plane;
  const flags = isRunning ? (commandLine(record.pid) ?? []).map(redactArgument) : [];
  const files: BundleFile[] = [
    {path: 'plane.json', text: json({...planeObject(plane), flags})},
    {path: 'machine.json', text: json({...machine(), exportedBy: version})},
    ...logFiles(record.logFile),
  ];
  if (!isRunning || !record.address) return files;
  try {
    await using connection = await reachPlane(record);
    for (const [path, file] of answers) files.push(await answerOf(connection, path, file));
    files.push(...(await objectFiles(connection)));
  } catch (error) {
    files.push({path: 'unreachable.txt', text: `${messageOf(error)}\n`});
  }
  return files;
};

const logFiles = (logFile: string): readonly BundleFile[] =>
  [olderLogFile(logFile), logFile]
    .filter(file => logFile && existsSync(file))
    .map((file, index, all) => ({
      path: index === all.length - 1 ? 'plat.log' : 'plat.log.1',
      text: bounded(redactText(lastLines(file, maxLogLines))),
    }));

/** What is asked of the API server, and the file of the answer. */
const answers = [
  ['/version', 'version.json'],
  ['/readyz?verbose', 'readyz.txt'],
  ['/livez?verbose', 'livez.txt'],
  ['/metrics', 'metrics.txt'],
] as const;

const answerOf = async (connection: PlaneConnection, path: string, file: string): Promise<BundleFile> => {
  const {status, text} = await connection.get(path);
  return {path: file, text: bounded(status === 200 ? redactText(text) : `${status}\n${redactText(text)}`)};
};

interface ApiResource {
  readonly name: string;
  readonly verbs: readonly string[];
}

const parsed = <T>(text: string): T => JSON.parse(text) as T;

/** The paths of the API's group versions; of each group, the preferred one. */
const groupPaths = async (connection: PlaneConnection): Promise<readonly string[]> => {
  const {groups} = parsed<{groups: readonly {preferredVersion: {groupVersion: string}}[]}>((await connection.get('/apis')).text);
  return ['/api/v1', ...groups.map(({preferredVersion}) => `/apis/${preferredVersion.groupVersion}`)];
};

const objectFiles = async (connection: PlaneConnection): Promise<readonly BundleFile[]> => {
  const files: BundleFile[] = [];
  let left = maxObjectsLength;
  for (const path of await groupPaths(connection)) {
    const answer = await connection.get(path);
    if (answer.status !== 200) continue; // An aggregated server that is not there.
    const {resources = []} = parsed<{resources?: readonly ApiResource[]}>(answer.text);
    for (const {name} of resources.filter(each => each.verbs.includes('list'))) {
      if (left <= 0) return [...files, {path: 'objects/cut-off.txt', text: 'The other kinds are left out: there is too much.\n'}];
      const {status, text} = await connection.get(`${path}/${name}?limit=${maxObjects}`);
      if (status !== 200) continue;
      const list = parsed<{items?: readonly unknown[]}>(text);
      if (!list.items?.length) continue;
      const file = bounded(json(redactObject(list, name === 'secrets')));
      left -= file.length;
      files.push({path: `objects/${path.replace(/^\/apis?\//, '').replaceAll('/', '_')}_${name}.json`, text: file});
    }
  }
  return files;
};
