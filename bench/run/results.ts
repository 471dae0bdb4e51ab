// The results of runs as JSON files, one a run.

import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
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

/**
 * Returns the last commit that changed the product, marked if the working directory differs from it; `unknown` outside
 * of a checkout.
 */
export const productCommit = (): string => {
  const git = (...args: string[]) =>
    execFileSync('git', [...args, '--', ...product], {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']}).trim();
  try {
    return git('log', '-1', '--format=%h', '--abbrev=12') + (git('status', '--porcelain') && '-changed');
  } catch {
    return 'unknown';
  }
};

/**
 * Collects the results of a run. The file is written after each subject, so that a run that is cut off leaves what it
 * has.
 */
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

/** Reads the results of a folder; none if there is no such folder. */
export const readResults = (folder: string): Results[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter(name => name.endsWith('.json'))
        .map(name => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Results)
    : [];

/** A row with the run that it is of. */
export interface NewestRow {
  readonly row: MeasuredRow;
  readonly of: Results;
}

/** Rows by their identity. */
export type NewestRows = ReadonlyMap<string, NewestRow>;

/**
 * Returns the newest row of each key, or name where it has none, and server, in the order of their runs. A table may so
 * come of several runs, each of some rows.
 */
export const newestRows = (results: readonly Results[]): NewestRows => {
  const rows = new Map<string, NewestRow>();
  const oldestFirst = results.toSorted((one, other) => Date.parse(one.startedAt) - Date.parse(other.startedAt));
  for (const of of oldestFirst)
    for (const row of of.rows) {
      const id = rowId(row.key ?? row.name, row.server);
      rows.delete(id); // A row takes the place of its newest run.
      rows.set(id, {row, of});
    }
  return rows;
};

/** Returns the runs of the newest rows, each with these rows alone. */
export const runsOf = (newest: NewestRows): Results[] => {
  const rows = new Map<Results, MeasuredRow[]>();
  for (const {row, of} of newest.values()) rows.set(of, [...(rows.get(of) ?? []), row]);
  return [...rows].map(([of, rows]) => ({...of, rows, failures: [], seconds: {}}));
};

/** Identifies a row among those of several servers. */
export const rowId = (key: string, server?: string): string => (server === undefined ? key : `${key} of ${server}`);
