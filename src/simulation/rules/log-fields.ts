import type {LogEntry} from './log-entry.js';
import {duration, fieldsOf, oneOf, RuleError, text, wholeNumber, type Field, type Fields} from './fields.js';

/** The fields of a log entry. */
const logEntryFields = {
  line: text,
  after: duration,
  every: duration,
  times: wholeNumber,
  stream: oneOf(['stdout', 'stderr'] as const),
} satisfies Fields;

/** A line, or an object with the times at which it is written. */
export const logEntry: Field<LogEntry> = {
  expects: 'a line, or an object with a line',
  read(value, at) {
    if (typeof value === 'string') return {text: value, stream: 'stdout', afterMs: 0};
    const {line, after = 0, every, times, stream = 'stdout'} = fieldsOf(logEntryFields, value, at);
    if (line === undefined) throw new RuleError(at, 'must have a line');
    if (every === 0) throw new RuleError(`${at}.every`, 'must be at least 1ms');
    if (times !== undefined && every === undefined) throw new RuleError(`${at}.times`, 'needs every');
    return {text: line, stream, afterMs: after, ...(every === undefined ? {} : {everyMs: every}), ...(times === undefined ? {} : {times})};
  },
};
