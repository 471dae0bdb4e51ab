/** What a log line carries beside its message. An `err` is shown with its chain of causes. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Constant message, values as fields. */
export interface LogMethod {
  (message: string): void;
  (fields: LogFields, message: string): void;
}

/** Where a component's lines go. Never given secrets, tokens or keys. */
export interface Log {
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
  /** The same log for lines of that verbosity; silent unless `-v` or `--vmodule` reach it. */
  v(level: number): Log;
  /** The same log with these fields on every line. `component` names the source in the line's header. */
  child(fields: LogFields): Log;
}

const nothing = (): void => {};

/** A log nobody reads. */
export const noLog: Log = {info: nothing, warn: nothing, error: nothing, v: () => noLog, child: () => noLog};
