// What a refusal of the server says, as findings with the lines of the fields.

import type {Status, StatusError} from '#src/api/status.js';
import type {Manifest} from '#src/check/files/manifest.js';
import type {Finding} from '#src/check/findings/finding.js';
import type {Rule} from '#src/check/findings/rules.js';

/** How the original's admission words its refusals; no reason or cause tells them apart. */
const texts: readonly (readonly [text: string, rule: Rule])[] = [
  ['exceeded quota: ', 'quota'],
  ['failed quota: ', 'quota'],
  ['status unknown for quota: ', 'quota'],
  ['violates PodSecurity ', 'pod-security'],
  ['failed calling webhook ', 'webhook'],
  ['admission webhook ', 'webhook'],
  ['ValidatingAdmissionPolicy ', 'policy'],
  ['MutatingAdmissionPolicy ', 'policy'],
];

/** Returns the rule by which admission refuses something; undefined if the text is none of its own. */
export const admissionRule = (message: string): Rule | undefined => texts.find(([text]) => message.includes(text))?.[1];

/** The server does not accept the types of an applied object's fields: each is named with a dot before its path. */
const untyped = 'failed to create typed patch object';

const untypedFields = (message: string): {readonly field: string; readonly text: string}[] =>
  message
    .split('\n')
    .flatMap(line => {
      const at = line.startsWith(untyped) ? line.indexOf('): .') + 2 : line.search(/\S/);
      const end = line.indexOf(': ', at + 1);
      return at > 1 && end > 0 ? [{path: line.slice(at, end).trim(), text: line.slice(end + 2)}] : [];
    })
    .filter(({path}) => path.startsWith('.') && path.length > 1)
    .map(({path, text}) => ({field: path.slice(1), text}));

/**
 * Returns the findings of a refusal: one for each cause with a field. `prefix` is where the refused object stands in
 * the manifest, as the pod of a template.
 */
export const refusalFindings = (manifest: Manifest, {status}: Pick<StatusError, 'status'>, prefix = ''): Finding[] => {
  const {message = 'the server refuses it', details} = status;
  const at = (field: string) => (prefix && field.startsWith('spec') ? `${prefix}.${field}` : prefix || asWritten(field));
  const rule = admissionRule(message);
  if (rule) return [manifest.finding(rule, message, prefix ? {field: prefix} : {})];
  const causes = (details?.causes ?? []).filter(({field}) => field && field !== '<nil>');
  if (causes.length > 0)
    return causes.map(cause => manifest.finding('invalid', `${at(cause.field!)}: ${cause.message}`, {field: at(cause.field!)}));
  const fields = message.startsWith(untyped) ? untypedFields(message) : [];
  if (fields.length > 0)
    return fields.map(({field, text}) =>
      manifest.finding(text.startsWith('field not declared') ? 'unknown-field' : 'invalid', `${at(field)}: ${text}`, {field: at(field)}),
    );
  return [manifest.finding(isInvalid(status) ? 'invalid' : 'refused', message, prefix ? {field: prefix} : {})];
};

/** The server names the schema that all versions of a definition share by a field that only it has. */
const shared = 'spec.validation.';

const asWritten = (field: string): string => (field.startsWith(shared) ? `spec.versions[0].schema.${field.slice(shared.length)}` : field);

const isInvalid = ({reason}: Status): boolean => reason === 'Invalid' || reason === 'BadRequest';

/** The text of a warning about a field that would be dropped, or that is there twice. */
const fieldWarnings: readonly (readonly [text: string, rule: Rule])[] = [
  ['unknown field "', 'unknown-field'],
  ['duplicate field "', 'repeated-field'],
];

/** Returns the finding of a warning of the server. */
export const warningFinding = (manifest: Manifest, text: string, prefix = ''): Finding => {
  for (const [start, rule] of fieldWarnings) {
    if (!text.startsWith(start)) continue;
    const field = text.slice(start.length, text.indexOf('"', start.length));
    return manifest.finding(rule, text, {field: prefix ? `${prefix}.${field}` : field});
  }
  // Warnings about a field begin with its path.
  const [path = ''] = text.split(':', 1);
  const field = path.startsWith('spec') || path.startsWith('metadata') ? path : '';
  return manifest.finding('server-warning', text, {field: prefix ? (field.startsWith('spec') ? `${prefix}.${field}` : prefix) : field});
};
