import {noLog, type Log, type LogFields, type LogMethod} from '#src/base/log.js';
import {isForbidden, type StatusError} from '#src/api/status.js';

/** The maximum depth of nested causes. */
const deepest = 5;

const refusalIn = ({err}: LogFields): StatusError | undefined => {
  let error: unknown = err;
  for (let depth = 0; depth < deepest && error instanceof Error; depth++, error = error.cause) {
    if (isForbidden(error)) return error as StatusError;
  }
  return undefined;
};

const subjectOf = ({status: {details}}: StatusError): string => `${details?.group ?? ''}/${details?.kind ?? ''}`;

/** A log that reports a forbidden request only once per kind, since nodes retry indefinitely. */
export const logRefusalsOnce = (log: Log): Log => {
  const reported = new Set<string>();
  const over = (inner: Log): Log => {
    if (inner === noLog) return noLog; // Callers compare with it to skip work for lines that are not logged.
    const method =
      (level: 'info' | 'warn' | 'error'): LogMethod =>
      (first: LogFields | string, message?: string) => {
        if (typeof first === 'string') return inner[level](first);
        const refusal = refusalIn(first);
        if (!refusal) return inner[level](first, message ?? '');
        if (reported.has(subjectOf(refusal))) return;
        reported.add(subjectOf(refusal));
        inner.error(
          `the server forbids what the nodes need (docs/simulation.md lists it), which is tried again without another word: ${refusal.message}`,
        );
      };
    return {
      info: method('info'),
      warn: method('warn'),
      error: method('error'),
      v: level => over(inner.v(level)),
      child: fields => over(inner.child(fields)),
    };
  };
  return over(log);
};
