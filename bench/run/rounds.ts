// Measurements of several servers in turns, so that what the machine does besides meets all of them alike.

import {median, setting} from '#bench/load/each.js';
import type {Row} from './row.js';
import type {Run} from './subject.js';

/** A server that is measured: plat, or another by its name. */
export interface Contender {
  readonly server?: string;
  /** Measures it once. `run` is told the steps. */
  rows(run: Run, isLast: boolean): AsyncIterable<Row>;
}

/** The number of rounds: BENCH_ROUNDS (3). */
export const roundCount = (): number => setting('BENCH_ROUNDS', 3);

/** Returns the row of the median round, with the values of all. */
export const medianRow = (rows: readonly Row[]): Row => {
  const values = rows.map(({value}) => value).toSorted((one, other) => one - other);
  const middle = median(values);
  return {...rows.find(({value}) => value === middle)!, rounds: values};
};

/**
 * Measures each contender once a round, each second round in the opposite order, and yields the median of each row at
 * the end. A row that only the last round has is yielded as it is.
 */
export async function* inTurns(contenders: readonly Contender[], run: Run, rounds = roundCount()): AsyncGenerator<Row> {
  const measured = new Map<string, Row[]>();
  for (let round = 1; round <= rounds; round++)
    for (const {server, rows} of round % 2 ? contenders : contenders.toReversed()) {
      const place = `round ${round} of ${rounds}${server ? `, ${server}` : ''}`;
      const step = (text: string) => run.step(text ? `${place}, ${text}` : place);
      step('');
      for await (const row of rows({...run, step}, round === rounds)) {
        const id = `${server ?? ''} ${row.key ?? row.name}`;
        measured.set(id, [...(measured.get(id) ?? []), server === undefined ? row : {...row, server}]);
      }
    }
  for (const rows of measured.values()) yield medianRow(rows);
}
