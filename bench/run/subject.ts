import type {Row} from './row.js';

/** What a subject knows of the run that it is part of. */
export interface Run {
  /** Whether that row was selected. Subjects without rows that can be selected are run whole. */
  wants(key: string): boolean;
  /** Shows what is being measured. */
  step(text: string): void;
}

/** Measurements of one topic, which share what they start. */
export interface Subject {
  readonly name: string;
  /** The keys of its rows that can be selected. */
  readonly rows?: readonly string[];
  /** Whether it is measured only when it is named. */
  readonly isOnRequest?: boolean;
  measure(run: Run): Promise<readonly Row[]> | AsyncIterable<Row>;
}
