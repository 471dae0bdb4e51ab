import type {ExecutionContext} from 'ava';
import {StatusError} from '#src/api/status.js';

/** Asserts that `run` throws a status error of that code, reason and message. */
export const isStatus = (t: ExecutionContext, run: () => unknown, code: number, reason: string, message: string | RegExp): void => {
  const error = t.throws(run, {instanceOf: StatusError});
  t.is(error?.code, code);
  t.is(error?.reason, reason);
  if (typeof message === 'string') t.is(error?.message, message);
  else t.regex(error?.message ?? '', message);
};
