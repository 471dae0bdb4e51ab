// The results of runs as JSON files, one a run.

import {execFileSync} from 'node:child_process';
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {cpus, loadavg, totalmem} from 'node:os';
import {join} from 'node:path';
import type {Row} from './row.js';

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryMb: number;
  readonly platform: string;
  readonly node: string;
  /** The load average of the last minute before the run. */
  readonly loadBefore: number;
}

export interface MeasuredRow extends Row {
  readonly subject: string;
}

/** A run: what was measured, when, and on what. */
export interface Results {
  readonly startedAt: string;
  /** The last commit that changed the product. */
  readonly commit: string;
  readonly machine: Machine;
  readonly rows: readonly MeasuredRow[];
  /** Subjects that could not be measured, and why. */
  readonly failures: readonly {readonly subject: string; readonly message: string}[];
  /** How long each subject took. */
  readonly seconds: Readonly<Record<string, number>>;
}

export const thisMachine = (): Machine => ({
  processor: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryMb: Math.round(totalmem() / 2 ** 20),
  platform: `${process.platform} ${process.arch}`,
  node: process.version,
  loadBefore: Number(loadavg()[0]!.toFixed(2)),
});

/** What is measured; the benchmarks themselves and pages may differ. */
const product = ['src', 'controllers', 'informers', 'package-lock.json'];

/** Returns the last commit that changed the product, marked if the working directory differs from it; `unknown` outside of a checkout. */
export const productCommit = (): string => {
  const git = (...args: string[]) =>
    execFileSync('git', [...args, '--', ...product], {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']}).trim();
  try {
    return git('log', '-1', '--format=%h', '--abbrev=12') + (git('status', '--porcelain') && '-changed');
  } catch {
    return 'unknown';
  }
};

/** Collects the results of a run. The file is written after each subject, so that a run that is cut off leaves what it has. */
export class ResultFile {
  readonly path: string;
  readonly #rows: MeasuredRow[] = [];
  readonly #failures: {subject: string; message: string}[] = [];
  readonly #seconds: Record<string, number> = {};
  readonly #about: Pick<Results, 'startedAt' | 'commit' | 'machine'>;

  constructor(folder: string, about: Pick<Results, 'startedAt' | 'commit' | 'machine'>) {
    mkdirSync(folder, {recursive: true});
    this.#about = about;
    this.path = join(folder, `${about.startedAt.replaceAll(/[:.]/g, '-')}-${about.commit}.json`);
  }

  add(subject: string, row: Row): void {
    this.#rows.push({subject, ...row});
  }

  fail(subject: string, message: string): void {
    this.#failures.push({subject, message});
  }

  save(subject: string, seconds: number): void {
    this.#seconds[subject] = Number(seconds.toFixed(1));
    writeFileSync(this.path, `${JSON.stringify(this.results(), undefined, 1)}\n`);
  }

  results(): Results {
    return {...this.#about, rows: this.#rows, failures: this.#failures, seconds: this.#seconds};
  }
}

/** Reads the results of a folder, oldest first. */
export const readResults = (folder: string): Results[] =>
  readdirSync(folder)
    .filter(name => name.endsWith('.json'))
    .sort()
    .map(name => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Results);

/** A row with the run that it is of. */
export interface NewestRow {
  readonly row: MeasuredRow;
  readonly of: Results;
}

/** Returns the newest row of each key, or name where it has none, and server. A table may so come of several runs, each of some rows. */
export const newestRows = (results: readonly Results[]): ReadonlyMap<string, NewestRow> => {
  const rows = new Map<string, NewestRow>();
  for (const of of results) for (const row of of.rows) rows.set(rowId(row.key ?? row.name, row.server), {row, of});
  return rows;
};

/** Identifies a row among those of several servers. */
export const rowId = (key: string, server?: string): string => (server === undefined ? key : `${key} of ${server}`);
