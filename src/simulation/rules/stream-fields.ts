import {jsonText} from '#src/base/json/json.js';
import type {ExecRule, PortRule} from './behavior.js';
import {
  bool,
  duration,
  exitCode,
  fieldsOf,
  listOf,
  mapOf,
  pattern,
  RuleError,
  text,
  wholeNumber,
  type Field,
  type Fields,
} from './fields.js';

/** The fields of an exec rule. */
const execFields = {command: listOf(pattern), stdout: text, stderr: text, echo: bool, exitCode, after: duration} satisfies Fields;

export const execRule: Field<ExecRule> = {
  expects: 'an object',
  read(value, at) {
    const {command, stdout, stderr, echo = false, exitCode: code = 0, after = 0} = fieldsOf(execFields, value, at);
    return {
      echo,
      exitCode: code,
      afterMs: after,
      ...(command ? {commands: command} : {}),
      ...(stdout === undefined ? {} : {stdout}),
      ...(stderr === undefined ? {} : {stderr}),
    };
  },
};

export const files = mapOf('texts by the paths of files', (value, path, at) => {
  if (!path.startsWith('/') || path.endsWith('/')) throw new RuleError(at, 'must be the absolute path of a file');
  return text.read(value, at);
});

/** The fields of an HTTP port rule. */
const httpFields = {status: wholeNumber, body: text, type: text} satisfies Fields;

/** The fields of a port rule that is an object. */
const portFields = {
  reply: text,
  http: {expects: 'an object', read: (value: unknown, at: string) => fieldsOf(httpFields, value, at)},
} satisfies Fields;

const portRule = (value: unknown, at: string): PortRule => {
  if (value === 'echo' || value === 'http-echo' || value === 'refuse') return value;
  if (typeof value === 'string')
    throw new RuleError(at, `must be echo, http-echo, refuse, or an object with reply or http, got ${jsonText(value)}`);
  const {reply, http} = fieldsOf(portFields, value, at);
  if ((reply === undefined) === (http === undefined)) throw new RuleError(at, 'must have either reply or http');
  if (reply !== undefined) return {reply};
  const {status = 200, body = '', type = 'text/plain; charset=utf-8'} = http!;
  if (status < 200 || status > 599) throw new RuleError(`${at}.http.status`, `must be from 200 to 599, got ${status}`);
  // oxlint-disable-next-line no-control-regex -- what must not be in a header
  if (/[^\t\u0020-\u007e]/.test(type)) throw new RuleError(`${at}.http.type`, 'must be the type of a content');
  return {status, body, type};
};

export const ports = mapOf('what listens, by the numbers of ports', (value, port, at) => {
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535) throw new RuleError(at, 'must be the number of a port');
  return portRule(value, at);
});
