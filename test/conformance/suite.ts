// The original's test program, run against a cluster.

import {execFile} from 'node:child_process';
import {once} from 'node:events';
import {closeSync, existsSync, mkdirSync, openSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {promisify} from 'node:util';
import type {Cluster} from './cluster.js';
import {divided, focuses} from './focus.js';
import {outcomesOf, type Outcome, type Report} from './outcomes.js';

const execute = promisify(execFile);

/** Why a file cannot be the suite; undefined where it can. */
export const suiteMissing = (file: string | undefined): string | undefined => {
  const help =
    "it is the original's end-to-end test program (docs/conformance.md says how to build it): make conformance E2E=path/to/e2e.test";
  if (!file) return `E2E names no program; ${help}`;
  return existsSync(file) ? undefined : `there is no ${file}; ${help}`;
};

/** The images that the suite names. */
export const imagesOfSuite = async (file: string): Promise<readonly string[]> =>
  (await execute(file, ['--list-images'])).stdout.split('\n').filter(Boolean);

export interface SuiteRun {
  readonly file: string;
  readonly cluster: Cluster;
  /** Where reports and logs are written, in a folder for each process. */
  readonly reports: string;
  /** How many tests run at a time. */
  readonly processes: number;
  /** Ends the program early, and starts no other. */
  readonly stopping: AbortSignal;
}

const argumentsOf = (cluster: Cluster, focus: string, folder: string): readonly string[] => [
  '--provider=skeleton',
  `--kubeconfig=${cluster.kubeconfig}`,
  `--ginkgo.focus=${focus}`,
  '--ginkgo.no-color',
  '--ginkgo.v',
  '--ginkgo.timeout=24h',
  `--ginkgo.json-report=${join(folder, 'report.json')}`,
  `--report-dir=${folder}`,
  `--num-nodes=${cluster.nodes}`,
  '--allowed-not-ready-nodes=0',
  '--prepull-images=false',
];

/** Runs one process of the suite, to its end. */
const oneProcess = async ({file, cluster, stopping}: SuiteRun, focus: string, folder: string): Promise<Report> => {
  if (stopping.aborted) return [];
  mkdirSync(folder, {recursive: true});
  const log = openSync(join(folder, 'e2e.log'), 'w');
  const {child, pid} = await cluster.start(file, argumentsOf(cluster, focus, folder), log).finally(() => closeSync(log));
  const interrupt = () => process.kill(pid, 'SIGINT');
  stopping.addEventListener('abort', interrupt);
  if (child.exitCode === null) await once(child, 'exit');
  stopping.removeEventListener('abort', interrupt);
  const report = join(folder, 'report.json');
  return existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as Report) : [];
};

/** Runs tests one after the other. */
const sequence = async (run: SuiteRun, names: readonly string[], folder: string): Promise<readonly Outcome[]> => {
  const reports: Report[] = [];
  for (const [index, focus] of focuses(names).entries()) reports.push(await oneProcess(run, focus, `${folder}-${index + 1}`));
  return outcomesOf(names, reports.flat());
};

/** Runs tests, several at a time, and those that must be alone afterwards. */
export const runTests = async (run: SuiteRun, names: readonly string[]): Promise<readonly Outcome[]> => {
  const {together, alone} = divided(names, run.processes);
  const parts = await Promise.all(together.map((part, index) => sequence(run, part, join(run.reports, `part-${index + 1}`))));
  return [...parts.flat(), ...(await sequence(run, alone, join(run.reports, 'alone')))];
};
