import type {AuditEvent} from './event.js';
import type {AuditFailures} from './failures.js';
import type {AuditSink} from './sink.js';

/** A line with its newline. */
export type Line = string | Buffer;

/** Where the lines of a log go. */
export interface LineWriter {
  /** Resolves once the line is written; rejects if none of it was. Lines are written in the order of the calls. */
  write(line: Line): Promise<void>;
  close(): Promise<void>;
}

/** The form of a log's lines. */
export type LogFormat = 'json' | 'legacy';

const lineOf: Readonly<Record<LogFormat, (event: AuditEvent) => Line>> = {
  json: ({line}) => line,
  legacy: ({text}) => `${text}\n`,
};

/** Writes each event as one line. */
export class LogSink implements AuditSink {
  readonly holdsRequest = true;
  readonly #writer: LineWriter;
  readonly #line: (event: AuditEvent) => Line;
  readonly #failures: AuditFailures;

  constructor(writer: LineWriter, format: LogFormat, failures: AuditFailures) {
    this.#writer = writer;
    this.#line = lineOf[format];
    this.#failures = failures;
  }

  process(events: readonly AuditEvent[]): Promise<boolean> {
    const written = events.map(event =>
      this.#writer.write(this.#line(event)).then(
        () => true,
        (error: unknown) => {
          this.#failures.failed('log', error, [event]);
          return false;
        },
      ),
    );
    return written.length === 1 ? written[0]! : Promise.all(written).then(all => all.every(Boolean));
  }

  close(): Promise<void> {
    return this.#writer.close();
  }
}
