// Which reconcile made a change, and what that reconcile was caused by.

import {keyOf, type ChangeRecord, type FlightRecord, type ReconcileCause, type ReconcileRecord} from '#page/api/recorder.js';

/** A step back from a change to what caused it. */
export interface Step {
  readonly reconcile: ReconcileRecord;
  /** The cause of the reconcile that is known best, and the change that it was the event of. */
  readonly cause?: ReconcileCause;
  readonly change?: ChangeRecord;
}

const at = (object: Parameters<typeof keyOf>[0], revision: string): string => `${keyOf(object)}@${revision}`;

/** Finds records by the objects and revisions that they name. */
export class Causes {
  readonly #writers = new Map<string, ReconcileRecord>();
  readonly #changes = new Map<string, ChangeRecord>();

  constructor(records: readonly FlightRecord[]) {
    for (const record of records) {
      if (record.kind === 'change') this.#changes.set(at(record.object, record.revision), record);
      if (record.kind !== 'reconcile') continue;
      for (const {object, revision} of record.writes) if (revision !== undefined) this.#writers.set(at(object, revision), record);
    }
  }

  /** The reconcile that wrote a change. */
  writerOf({object, revision}: ChangeRecord): ReconcileRecord | undefined {
    return this.#writers.get(at(object, revision));
  }

  /** The change whose event a cause is. */
  changeOf(cause: ReconcileCause): ChangeRecord | undefined {
    return 'object' in cause ? this.#changes.get(at(cause.object, cause.revision)) : undefined;
  }

  /** The reconciles, other than itself, whose writes caused a reconcile. */
  sourcesOf({causes}: ReconcileRecord): ReconcileRecord[] {
    return causes.flatMap(cause => ('object' in cause ? (this.#writers.get(at(cause.object, cause.revision)) ?? []) : []));
  }

  /** The way back from a change: its reconcile, what caused that, and so on, at most ten steps. */
  chainOf(change: ChangeRecord): Step[] {
    const steps: Step[] = [];
    const seen = new Set<number>();
    for (let next: ChangeRecord | undefined = change; next !== undefined && steps.length < 10;) {
      const reconcile: ReconcileRecord | undefined = this.writerOf(next);
      if (!reconcile || seen.has(reconcile.seq)) break;
      seen.add(reconcile.seq);
      const cause: ReconcileCause | undefined = reconcile.causes.find(each => this.changeOf(each)) ?? reconcile.causes[0];
      const source: ChangeRecord | undefined = cause && this.changeOf(cause);
      steps.push({reconcile, ...(cause ? {cause} : {}), ...(source ? {change: source} : {})});
      next = source;
    }
    return steps;
  }
}

/** Says what a cause is. */
export const causeText = (cause: ReconcileCause): string => {
  switch (cause.type) {
    case 'added':
    case 'updated':
    case 'deleted':
      return `${cause.object.resource} ${cause.object.name ?? ''} ${cause.type}`;
    case 'resync':
      return `${cause.object.resource} ${cause.object.name ?? ''} read again`;
    case 'retry':
      return `retry ${cause.attempt}`;
    case 'requeue':
      return `asked for after ${cause.afterMs} ms`;
    case 'period':
      return 'its period was over';
    case 'enqueued':
      return 'queued by itself';
  }
};
