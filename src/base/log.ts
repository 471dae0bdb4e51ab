/** The fields of a log line. An `err` is written with its chain of causes. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Takes a constant message; values go into fields. */
export interface LogMethod {
  (message: string): void;
  (fields: LogFields, message: string): void;
}

/** The log of a component. Must never be given secrets, tokens or keys. */
export interface Log {
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
  /** Returns the log for lines of a verbosity; silent below `-v` and `--vmodule`. */
  v(level: number): Log;
  /** Returns the log with these fields on every line. `component` names the source in the line's header. */
  child(fields: LogFields): Log;
}

const nothing = (): void => {};

/** A log that discards everything. */
export const noLog: Log = {info: nothing, warn: nothing, error: nothing, v: () => noLog, child: () => noLog};
