import type {AuditEvent} from './event.js';
import type {AuditFailures} from './failures.js';
import type {AuditSink} from './sink.js';

/** A line with its newline. */
export type Line = string | Buffer;

/** Where the lines of a log go. */
export interface LineWriter {
  /**
   * Resolves once the line is written; rejects if none of it was. Lines are written in the order of the calls. Lines
   * that are written together get the same promise. A response waits for a line that is awaited: it is written sooner.
   */
  write(line: Line, isAwaited?: boolean): Promise<void>;
  close(): Promise<void>;
}

/** The form of a log's lines. */
export type LogFormat = 'json' | 'legacy';

const lineOf: Readonly<Record<LogFormat, (event: AuditEvent) => Line>> = {
  json: ({line}) => line,
  legacy: ({text}) => `${text}\n`,
};

/** Events whose lines are written together, and whether they were. */
interface WrittenGroup {
  readonly written: Promise<void>;
  readonly events: AuditEvent[];
  readonly taken: Promise<boolean>;
}

/** Writes each event as one line. */
export class LogSink implements AuditSink {
  readonly holdsRequest = true;
  readonly #writer: LineWriter;
  readonly #line: (event: AuditEvent) => Line;
  readonly #failures: AuditFailures;
  #group: WrittenGroup | undefined;

  constructor(writer: LineWriter, format: LogFormat, failures: AuditFailures) {
    this.#writer = writer;
    this.#line = lineOf[format];
    this.#failures = failures;
  }

  process(events: readonly AuditEvent[]): Promise<boolean> {
    if (events.length === 1) return this.#write(events[0]!);
    return Promise.all(events.map(event => this.#write(event))).then(all => all.every(Boolean));
  }

  close(): Promise<void> {
    return this.#writer.close();
  }

  /** Events that the writer writes together share one promise: each would cost as much as its event. */
  #write(event: AuditEvent): Promise<boolean> {
    const written = this.#writer.write(this.#line(event), event.endsRequest);
    if (this.#group?.written === written) this.#group.events.push(event);
    else this.#group = this.#newGroup(written, event);
    return this.#group.taken;
  }

  #newGroup(written: Promise<void>, first: AuditEvent): WrittenGroup {
    const events = [first];
    const forget = () => {
      if (this.#group?.written === written) this.#group = undefined;
    };
    const taken = written.then(
      () => {
        forget();
        return true;
      },
      (error: unknown) => {
        forget();
        this.#failures.failed('log', error, events);
        return false;
      },
    );
    return {written, events, taken};
  }
}
